//! Help and usage errors of the cluster and machine commands.

use outrigger_testing::TestContext;

fn run(args: &[&str]) -> String {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.run(args.iter().copied()).unwrap()
}

const CLUSTER: &str = "apiVersion: outrigger.dev/v1beta1\nkind: Cluster\nmetadata: {name: a}\nspec:\n  \
                       version: 1.0.0\n  machines: [{ip: 10.0.0.1, password: eA==}]\n";

#[test]
fn each_verb_has_help_with_an_example_and_no_namespace() {
    let verbs = [
        ("cluster", "create"),
        ("cluster", "delete"),
        ("cluster", "logs"),
        ("cluster", "retry"),
        ("cluster", "status"),
        ("cluster", "upgrade"),
        ("machine", "add"),
        ("machine", "facts"),
        ("machine", "list"),
        ("machine", "remove"),
        ("machine", "run"),
    ];
    for (noun, verb) in verbs {
        let text = run(&[noun, verb, "--help"]);
        assert!(text.starts_with("exit code: 0"), "{text}");
        let example = format!("Examples:\n  outrigger {noun} {verb}");
        assert!(text.contains(&example), "{text}");
        assert!(text.contains("--kubeconfig"), "{text}");
        assert!(!text.contains("--namespace"), "{text}");
    }
}

#[test]
fn verbs_that_change_something_can_wait_and_dry_run() {
    let verbs = [
        ("cluster", "create"),
        ("cluster", "delete"),
        ("cluster", "retry"),
        ("cluster", "upgrade"),
        ("machine", "add"),
        ("machine", "remove"),
    ];
    for (noun, verb) in verbs {
        let text = run(&[noun, verb, "--help"]);
        for flag in ["--wait", "--timeout <DURATION>", "--dry-run"] {
            assert!(text.contains(flag), "{noun} {verb} {flag}: {text}");
        }
    }
}

#[test]
fn mistakes_are_reported_before_any_request() {
    let text = run(&["cluster", "upgrade", "a", "banana"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(text.contains("expected a version such as 1.34.1"), "{text}");
    let text = run(&["cluster", "logs", "a", "--hook", "PreInstal"]);
    assert!(text.contains("there is no hook PreInstal"), "{text}");
    assert!(text.contains("did you mean PreInstall?"), "{text}");
    let text = run(&["machine", "run", "--", "true"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(text.contains("--cluster <NAME>"), "{text}");
    let text = run(&["machine", "run", "a", "--timeout", "1s", "--", "true"]);
    assert!(text.contains("failed to load the kubeconfig"), "{text}");
}

#[test]
fn a_plan_names_invalid_fields() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.write("a.yaml", CLUSTER).unwrap();
    let text = context.run(["cluster", "plan", "-f", "a.yaml"]).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    let other = CLUSTER.replace("name: a", "name: My_Cluster");
    context.write("b.yaml", other).unwrap();
    let text = context.run(["cluster", "plan", "-f", "b.yaml"]).unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("metadata.name: \"My_Cluster\""), "{text}");
}
