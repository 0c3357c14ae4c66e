//! `outrigger up` and `outrigger serve`.

use std::path::Path;

use outrigger_testing::TestContext;

use crate::local_cluster::LocalCluster;

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap()
}

/// The absolute path of the example charts.
fn charts() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/charts");
    root.canonicalize().unwrap().display().to_string()
}

#[test]
fn up_once_installs_all_plugins_and_prints_the_result() {
    let context = context();
    let plugins = format!(
        "apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {{name: metrics}}\nspec: {{repo: 'file://{0}'}}\n---\n\
         apiVersion: plugins.kubegems.io/v1beta1\nkind: Plugin\n\
         spec: {{enabled: true, kind: helm, repo: 'file://{0}', name: lighthouse, version: v0.1.0}}\n",
        charts()
    );
    context.write("plugins.yaml", plugins).unwrap();
    let text = context
        .run(["up", "--plugins", "plugins.yaml", "--once"])
        .unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    for name in ["lighthouse", "metrics"] {
        let row = text
            .lines()
            .find(|line| line.starts_with("default") && line.contains(name));
        assert!(row.is_some_and(|row| row.contains("Ready")), "{text}");
    }
}

#[test]
fn up_once_fails_and_prints_the_reason() {
    let context = context();
    let plugin = format!(
        "apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {{name: nowhere}}\nspec: {{repo: 'file://{}', retries: 0}}\n",
        charts()
    );
    context.write("plugins.yaml", plugin).unwrap();
    let text = context
        .run(["up", "--plugins", "plugins.yaml", "--once"])
        .unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("has no chart nowhere"), "{text}");
}

#[test]
fn a_running_cluster_whose_kubeconfig_is_elsewhere_can_be_backed_up() {
    let cluster = LocalCluster::start_with(&["--data", "data", "--kubeconfig", "elsewhere"]);
    let backup = [
        "apiserver",
        "backup",
        "--data",
        "data",
        "--to",
        "backup.redb",
    ];
    let text = cluster.context.run(backup).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(cluster.context.directory().join("backup.redb").exists());
}

#[test]
fn up_once_ends_when_an_installation_was_rolled_back() {
    let context = context();
    let chart = "apiVersion: v2\nname: hook\nversion: 1.0.0\n";
    context.write("charts/hook/Chart.yaml", chart).unwrap();
    let job = "\
apiVersion: batch/v1
kind: Job
metadata: {name: check, annotations: {helm.sh/hook: pre-install}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {outrigger.dev/simulate: job-fails}}
    spec: {restartPolicy: Never, containers: [{name: a, image: b}]}
";
    context
        .write("charts/hook/templates/job.yaml", job)
        .unwrap();
    let repo = context.directory().join("charts");
    let plugin = format!(
        "apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {{name: hook}}\nspec: {{repo: 'file://{}', rollback: true}}\n",
        repo.display()
    );
    context.write("plugins.yaml", plugin).unwrap();
    let text = context
        .run(["up", "--plugins", "plugins.yaml", "--once"])
        .unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("Job"), "{text}");
}

#[test]
fn up_rejects_files_without_plugins_before_it_starts() {
    let context = context();
    context.write("plugins.yaml", "kind: Deployment\n").unwrap();
    let text = context
        .run(["up", "--plugins", "plugins.yaml", "--once"])
        .unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn serve_without_a_kubeconfig_prints_a_hint() {
    let text = context().run(["serve", "--kubeconfig", "missing"]).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn help_of_up_and_serve() {
    insta::assert_snapshot!(context().run(["up", "--help"]).unwrap());
    insta::assert_snapshot!(context().run(["serve", "--help"]).unwrap());
}
