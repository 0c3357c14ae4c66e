//! Plugin commands: their help, and what they say when something is missing.

use outrigger_testing::TestContext;

fn run(args: &[&str]) -> String {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.run(args.iter().copied()).unwrap()
}

#[test]
fn help_shows_the_verbs() {
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
fn without_a_cluster_the_error_says_how_to_get_one() {
    insta::assert_snapshot!(run(&["plugin", "list"]));
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named() {
    insta::assert_snapshot!(run(&["plugin", "list", "--kubeconfig", "nowhere.yaml"]));
}

#[test]
fn a_mistake_in_a_file_is_told_before_any_cluster_is_asked() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    let seed = "apiVersion: plugins.kubegems.io/v1beta1\nkind: Plugin\nspec:\n  enabled: true\n  kind: helm\n  repo: https://charts.example.com\n  name: component-a\n  verison: v1.0.0\n";
    context.write("seed.yaml", seed).unwrap();
    insta::assert_snapshot!(
        context
            .run(["plugin", "install", "-F", "seed.yaml"])
            .unwrap()
    );
}

#[test]
fn flags_that_contradict_each_other_are_a_mistake() {
    let text = run(&["plugin", "install", "web", "-F", "x.yaml"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    let text = run(&["plugin", "disable", "web", "--cascade", "--force"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    let text = run(&["plugin", "set", "web"]);
    assert!(text.contains("nothing is to be changed"), "{text}");
    let text = run(&["plugin", "wait", "web", "--timeout", "soon"]);
    assert!(text.contains("write it like 90s or 5m"), "{text}");
}
