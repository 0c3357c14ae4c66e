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
        ("cluster", "backup"),
        ("cluster", "certificates"),
        ("cluster", "create"),
        ("cluster", "delete"),
        ("cluster", "logs"),
        ("cluster", "restore"),
        ("cluster", "support-bundle"),
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
        ("cluster", "certificates"),
        ("cluster", "create"),
        ("cluster", "delete"),
        ("cluster", "restore"),
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
fn files_of_backups_and_bundles_are_checked_before_any_request() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.write("there", "x").unwrap();
    for verb in ["backup", "support-bundle"] {
        let text = context
            .run(["cluster", verb, "a", "--to", "there"])
            .unwrap();
        assert!(text.starts_with("exit code: 1"), "{text}");
        assert!(text.contains("there exists\nhint: --overwrite"), "{text}");
    }
    let text = context.run(["cluster", "restore", "a", "there"]).unwrap();
    assert!(text.contains("there is refused"), "{text}");
    let text = context.run(["cluster", "certificates", "a", "--wait"]);
    let text = text.unwrap();
    assert!(text.starts_with("exit code: 2"), "{text}");
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

#[test]
fn a_plan_of_bare_machines_shows_what_changes_on_each_of_them() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    for name in ["kubeadm", "kubectl", "kubelet"] {
        let path = format!("provider/1.36.4/amd64/bin/{name}");
        context.write(&path, name).unwrap();
    }
    context
        .write("provider/1.36.4/amd64/packages/containerd-2.tar", "x")
        .unwrap();
    let built = context.run(["provider", "build", "provider"]).unwrap();
    assert!(built.starts_with("exit code: 0"), "{built}");
    let manifest =
        with_worker("site").replace("version: 1.30.0", "version: 1.36.4, provider: baremetal");
    context.write("d.yaml", manifest).unwrap();
    let plan = ["cluster", "plan", "-f", "d.yaml", "--provider", "provider"];
    let text = context.run(plan).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    let count = |part: &str| text.lines().filter(|line| line.contains(part)).count();
    // On the control plane and on the worker.
    assert_eq!(count("  copy /usr/local/bin/kubelet (7 B)"), 2, "{text}");
    assert_eq!(
        count("  unpack containerd-2.tar in /usr/local"),
        2,
        "{text}"
    );
    assert_eq!(
        count("  write /etc/systemd/system/kubelet.service"),
        2,
        "{text}"
    );
    assert_eq!(count("  run kubeadm init phase certs all"), 1, "{text}");
    assert_eq!(count("  run kubeadm join"), 1, "{text}");
    let json = context.run([&plan[..], &["-o", "json"]].concat()).unwrap();
    assert!(
        json.contains("\"copy /usr/local/bin/kubeadm (7 B)\""),
        "{json}"
    );
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
