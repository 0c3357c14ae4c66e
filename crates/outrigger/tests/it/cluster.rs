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

/// A manifest of a cluster with a worker of a cluster.
fn with_worker(cluster: &str) -> String {
    format!(
        "apiVersion: outrigger.dev/v1beta1\nkind: Cluster\nmetadata: {{name: site}}\n\
         spec: {{version: 1.30.0, machines: [{{ip: 127.0.0.1, password: eA==}}]}}\n---\n\
         apiVersion: outrigger.dev/v1beta1\nkind: Machine\nmetadata: {{name: w1}}\n\
         spec: {{cluster: {cluster}, ip: 127.0.0.2, password: eA==}}\n"
    )
}

#[test]
fn a_plan_contains_the_workers_of_the_manifest() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.write("c.yaml", with_worker("site")).unwrap();
    let text = context.run(["cluster", "plan", "-f", "c.yaml"]).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    let is_of_worker = |line: &&str| line.starts_with("EnsurePreflight") && line.contains("w1");
    assert_eq!(text.lines().filter(is_of_worker).count(), 1, "{text}");
}

#[test]
fn a_worker_of_a_cluster_that_does_not_exist_is_refused_with_a_suggestion() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.write("c.yaml", with_worker("sit")).unwrap();
    for arguments in [
        &["cluster", "plan", "-f", "c.yaml"][..],
        &["up", "--cluster", "c.yaml", "--once"],
    ] {
        let text = context.run(arguments.iter().copied()).unwrap();
        assert!(text.starts_with("exit code: 1"), "{text}");
        let expected = "machine w1: spec.cluster: cluster \"sit\" does not exist";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("did you mean site?"), "{text}");
    }
}
