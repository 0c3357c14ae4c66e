//! Operators that the controller delegates steps to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Api;
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_controller::{ClusterOptions, Options, crds};
use outrigger_sdk::{Delegation, Operator};
use outrigger_testing::embedded_api;
use outrigger_testing::fake_machines::FakeMachines;
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_mins(1);

fn cluster(steps: &[&str]) -> Value {
    json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
        "spec": {
            "version": "1.0.0",
            "machines": [{"ip": "10.0.0.1", "password": "eA=="}, {"ip": "10.0.0.2", "password": "eA=="}],
            "features": {"delegateConditions": steps, "delegation": {"owner": "my-operator"}},
        },
    })
}

#[tokio::test]
async fn steps_of_the_cluster_and_of_machines_are_done_by_the_operator_in_their_order()
-> anyhow::Result<()> {
    let server = embedded_api::start(Duration::ZERO).await;
    let client = embedded_api::client(&server);
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
    let done = Arc::new(Mutex::new(Vec::new()));
    let record = {
        let done = Arc::clone(&done);
        move |step: Delegation| {
            let machine = step.machine.map(|machine| machine.spec.access.ip);
            done.lock().unwrap().push((step.step, machine));
            async { Ok::<_, String>(()) }
        }
    };
    let operator = Operator::new(client.clone(), "my-operator")
        .on("EnsureDocker", record.clone())
        .on("EnsureCilium", record);
    let operator = tokio::spawn(operator.run(std::future::pending()));
    let api: Api<Cluster> = Api::all(client);
    let steps = ["EnsureDocker", "EnsureCilium"];
    let object: Cluster = serde_json::from_value(cluster(&steps))?;
    api.create(&PostParams::default(), &object).await?;
    let is_running = |cluster: Option<&Cluster>| {
        let status = cluster.and_then(|cluster| cluster.status.as_ref());
        status.is_some_and(|status| status.phase == ClusterPhase::Running)
    };
    let waiting = await_condition(api.clone(), "a", is_running);
    tokio::time::timeout(TIMEOUT, waiting).await??;
    let mut done = std::mem::take(&mut *done.lock().unwrap());
    assert_eq!(done.pop(), Some(("EnsureCilium", None)));
    done.sort();
    let machine = |ip: &str| ("EnsureContainerRuntime", Some(ip.to_owned()));
    assert_eq!(done, [machine("10.0.0.1"), machine("10.0.0.2")]);
    operator.abort();
    controller.abort();
    server.close().await;
    Ok(())
}
