//! Delegated steps: the example operator on a real API server, and a shell script with kubectl.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use kube::Api;
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::ConditionStatus;
use outrigger_controller::{ClusterOptions, Options, crds};
use outrigger_testing::TestContext;
use outrigger_testing::fake_machines::FakeMachines;
use outrigger_testing::kubernetes::{self, RealKubernetes};
use outrigger_testing::peers::KUBECTL;
use serde_json::{Value, json};

use super::fixture::{PASSWORD, TIMEOUT, Up, machines};

#[path = "../../../../sdk/examples/network_operator.rs"]
#[expect(dead_code, reason = "the test is the main function")]
mod network_operator;

const STEP: &str = "EnsureCilium";

/// A cluster that delegates its network.
fn cluster(name: &str, ip: &str, owner: &str, timeout: &str) -> Value {
    json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {
            "version": "1.0.0", "clusterCIDR": "10.244.0.0/16", "machines": [{"ip": ip, "password": PASSWORD}],
            "features": {"delegateConditions": [STEP], "delegation": {"owner": owner, "timeout": timeout}},
        },
    })
}

fn message(cluster: &Cluster, status: ConditionStatus) -> Option<&str> {
    let conditions = &cluster.status.as_ref()?.conditions;
    let mut conditions = conditions.iter();
    let condition = conditions.find(|it| it.kind == STEP && it.status == status)?;
    Some(&condition.message)
}

async fn until(
    api: &Api<Cluster>,
    name: &str,
    condition: impl Fn(&Cluster) -> bool + Send + Sync,
) -> anyhow::Result<Cluster> {
    let is_met = |cluster: Option<&Cluster>| cluster.is_some_and(&condition);
    let waiting = await_condition(api.clone(), name, is_met);
    let found = tokio::time::timeout(TIMEOUT, waiting).await;
    found
        .context("still waiting")??
        .context("the cluster is gone")
}

fn is_running(cluster: &Cluster) -> bool {
    let status = cluster.status.as_ref();
    status.is_some_and(|status| status.phase == ClusterPhase::Running)
}

#[tokio::test]
async fn the_example_operator_finishes_a_step_on_a_real_api_server() -> anyhow::Result<()> {
    let kubernetes = RealKubernetes::start(kubernetes::Options::default()).await?;
    let client = kubernetes.client();
    crds::install(&client, false).await?;
    let options = Options {
        clusters: Some(ClusterOptions {
            connect: Arc::new(FakeMachines::default()),
            ..ClusterOptions::default()
        }),
        ..Options::default()
    };
    let controller = outrigger_controller::run(client.clone(), options, std::future::pending());
    let controller = tokio::spawn(controller);
    let api: Api<Cluster> = Api::all(client.clone());
    for (name, ip, timeout) in [("waits", "10.0.0.1", "1h"), ("ends", "10.0.0.2", "1s")] {
        let object = cluster(name, ip, "network-operator", timeout);
        let object = serde_json::from_value(object)?;
        api.create(&PostParams::default(), &object).await?;
    }
    // Without the operator, one waits and says for whom, and the other one gives up.
    let waiting = until(&api, "waits", |it| {
        message(it, ConditionStatus::Unknown).is_some()
    })
    .await?;
    let text = message(&waiting, ConditionStatus::Unknown).unwrap_or_default();
    ensure!(
        text.starts_with("waiting for network-operator until 2"),
        "{text}"
    );
    let ended = until(&api, "ends", |it| {
        message(it, ConditionStatus::False).is_some()
    })
    .await?;
    let text = message(&ended, ConditionStatus::False).unwrap_or_default();
    ensure!(
        text.contains("network-operator did not finish the step in time"),
        "{text}"
    );
    let operator = network_operator::operator(client).run(std::future::pending());
    let operator = tokio::spawn(operator);
    until(&api, "waits", is_running).await?;
    operator.abort();
    controller.abort();
    Ok(())
}

/// The script in the guide.
fn script() -> anyhow::Result<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clusters.md");
    let page = fs_err::read_to_string(page)?;
    let begin = page
        .find("```sh\nkubectl get")
        .context("the guide has a script")?;
    let script = page[begin..].trim_start_matches("```sh\n");
    let end = script.find("```").context("the script ends")?;
    Ok(script[..end].to_owned())
}

#[tokio::test]
async fn the_script_of_the_guide_finishes_a_step_with_kubectl() -> anyhow::Result<()> {
    let machines = machines(1)?;
    let up = Up::start(Up::context()?, &[]).await?;
    let address = machines.machines()[0].address.to_string();
    up.create(cluster("a", &address, "my-operator", "1h"))
        .await?;
    up.until("a", |it| message(it, ConditionStatus::Unknown).is_some())
        .await?;
    let kubectl = KUBECTL.installed()?;
    let folder = kubectl.parent().context("kubectl has a folder")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let shell = TestContext::new("/bin/sh")?;
    let program = format!(
        "install_network() {{ echo \"network of $1\" >>installed; }}\n{}",
        script()?
    );
    let mut operator = shell
        .command(["-c", &program])
        .env("KUBECONFIG", &up.kubeconfig)
        .env("PATH", format!("{}:{path}", folder.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let running = up.until_running("a").await;
    let group = rustix::process::Pid::from_child(&operator);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL)?;
    operator.wait()?;
    running?;
    let installed = fs_err::read_to_string(shell.directory().join("installed"))?;
    ensure!(installed.contains("/a\n"), "{installed}");
    Ok(())
}
