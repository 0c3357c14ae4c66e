//! Help and usage errors of the plugin commands.

use outrigger_testing::TestContext;

fn run(args: &[&str]) -> String {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.run(args.iter().copied()).unwrap()
}

#[test]
fn help_lists_the_verbs() {
    insta::assert_snapshot!(run(&["plugin", "--help"]));
}

#[test]
fn install_has_help_with_examples() {
    insta::assert_snapshot!(run(&["plugin", "install", "--help"]));
}

#[test]
fn each_verb_has_help_with_an_example() {
    for verb in [
        "list",
        "show",
        "install",
        "enable",
        "disable",
        "set",
        "upgrade",
        "diff",
        "history",
        "rollback",
        "uninstall",
        "suspend",
        "resume",
        "reconcile",
        "wait",
    ] {
        let text = run(&["plugin", verb, "--help"]);
        assert!(text.starts_with("exit code: 0"), "{text}");
        assert!(text.contains(&format!("outrigger plugin {verb}")), "{text}");
        assert!(
            text.contains("Examples:") && text.contains("--kubeconfig"),
            "{text}"
        );
    }
}

#[test]
fn without_a_kubeconfig_the_error_has_a_hint() {
    insta::assert_snapshot!(run(&["plugin", "list"]));
}

#[test]
fn a_missing_kubeconfig_is_named() {
    insta::assert_snapshot!(run(&["plugin", "list", "--kubeconfig", "nowhere.yaml"]));
}

#[test]
fn an_invalid_file_is_reported_before_any_request() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    let plugin = "apiVersion: plugins.kubegems.io/v1beta1\nkind: Plugin\nspec:\n  enabled: true\n  kind: helm\n  repo: https://charts.example.com\n  name: component-a\n  verison: v1.0.0\n";
    context.write("plugin.yaml", plugin).unwrap();
    insta::assert_snapshot!(
        context
            .run(["plugin", "install", "-F", "plugin.yaml"])
            .unwrap()
    );
}

#[test]
fn conflicting_and_invalid_flags_are_usage_errors() {
    let text = run(&["plugin", "install", "web", "-F", "x.yaml"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    let text = run(&["plugin", "disable", "web", "--cascade", "--force"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    for (args, message) in [
        (&["plugin", "set", "web"][..], "no change requested"),
        (&["plugin", "upgrade", "web"][..], "no change requested"),
        (
            &["plugin", "install", "./web"][..],
            "the name of the plugin is missing",
        ),
        (
            &["plugin", "install", "web", "./web", "--repo", "https://x"][..],
            "both ./web and --repo specify a source",
        ),
        (
            &["plugin", "set", "web", "--set", "a"][..],
            "failed parsing --set data",
        ),
        (
            &["repository", "add", "site", "htps://charts.example.com"][..],
            "unknown scheme; use https, http, file or oci",
        ),
        (
            &["repository", "add", "site", "charts"][..],
            "expected the URL",
        ),
        (
            &["repository", "add", "site", "https://x", "--secret", "a"][..],
            "expected NAMESPACE/NAME",
        ),
    ] {
        let text = run(args);
        assert!(text.starts_with("exit code: 2"), "{args:?}: {text}");
        assert!(text.contains(message), "{args:?}: {text}");
    }
    let text = run(&["plugin", "wait", "web", "--timeout", "soon"]);
    assert!(
        text.contains("expected a duration such as 90s or 5m"),
        "{text}"
    );
}
