//! What goes wrong while a cluster is made: a condition names it, it is repaired as `docs/clusters.md` says, and `cluster retry`
//! goes on.

use anyhow::{Context as _, ensure};
use kube::api::{Patch, PatchParams};
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::flow_status::{FlowStatus, TaskState};
use outrigger_testing::lab::Options;
use outrigger_testing::peers::lab::CURRENT;
use serde_json::{Value, json};

use super::fixture::{LIMIT, create_with, nodes, ready_nodes, start, until_running};
use super::lab;
use crate::clusters::fixture::{Up, pause};

fn runs(step: &str, flow: Option<&FlowStatus>) -> bool {
    let tasks = flow.into_iter().flat_map(|flow| &flow.tasks);
    tasks
        .into_iter()
        .any(|task| task.step == step && task.state == TaskState::Running)
}

/// Waits until a step of the cluster or of a machine runs.
async fn until_begun(up: &Up, step: &str) -> anyhow::Result<()> {
    let begun = async {
        loop {
            let cluster = up.clusters().get("demo").await?;
            let machines = up
                .machines()
                .list(&kube::api::ListParams::default())
                .await?;
            let flows = machines
                .items
                .iter()
                .map(|it| it.status.as_ref()?.flow.as_ref());
            let flows = flows.chain([cluster.status.as_ref().and_then(|it| it.flow.as_ref())]);
            if flows.into_iter().any(|flow| runs(step, flow)) {
                return anyhow::Ok(());
            }
            pause().await;
        }
    };
    let begun = tokio::time::timeout(LIMIT, begun).await;
    begun.with_context(|| format!("{step} does not begin"))?
}

/// Waits until a step failed, and returns the message of its condition, with the name of the machine.
async fn until_failed(up: &Up, step: &str) -> anyhow::Result<String> {
    let found = |conditions: &[Condition]| {
        let mut conditions = conditions.iter();
        let failed =
            conditions.find(|it| it.kind == step && it.status == ConditionStatus::False)?;
        Some(failed.message.clone())
    };
    let failed = async {
        loop {
            let cluster = up.clusters().get("demo").await?;
            let status = cluster.status.unwrap_or_default();
            if let Some(message) = found(&status.conditions) {
                return anyhow::Ok(message);
            }
            let machines = up
                .machines()
                .list(&kube::api::ListParams::default())
                .await?;
            for machine in machines.items {
                let status = machine.status.unwrap_or_default();
                if let Some(message) = found(&status.conditions) {
                    let name = machine.metadata.name.unwrap_or_default();
                    return Ok(format!("{name}: {message}"));
                }
            }
            pause().await;
        }
    };
    let Ok(failed) = tokio::time::timeout(LIMIT, failed).await else {
        anyhow::bail!("{step}: {:#?}", up.clusters().get("demo").await?.status);
    };
    failed
}

async fn change(up: &Up, spec: Value) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({"spec": spec}));
    up.clusters()
        .patch("demo", &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

fn retry(up: &Up) -> anyhow::Result<()> {
    up.run(&["cluster", "retry", "demo"])?;
    Ok(())
}

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn a_disk_that_fills_up_during_images_and_an_api_server_that_does_not_start()
-> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1"], Options::default())?;
    let up = start(&[CURRENT]).await?;
    let fields = json!({"apiServerExtraArgs": {"no-such-flag": "x"}});
    create_with(&up, &lab, &machines, &[], fields).await?;
    until_begun(&up, "EnsureKubernetesImages").await?;
    machines[0].fill_disk()?;
    let full = until_failed(&up, "EnsureKubernetesImages").await?;
    ensure!(
        full.contains("No space left on device") || full.contains("no space left"),
        "{full}"
    );
    machines[0].free_disk()?;
    retry(&up)?;
    let crashed = until_failed(&up, "EnsureKubeadmInitPhaseWaitControlPlane").await?;
    ensure!(
        crashed.contains("unknown flag: --no-such-flag"),
        "{crashed}"
    );
    change(&up, json!({"apiServerExtraArgs": null})).await?;
    retry(&up)?;
    until_running(&up, 1).await?;
    let ready = nodes(&["cp1"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, ready);
    Ok(())
}

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn the_first_control_plane_is_off_when_the_second_one_joins() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1", "cp2"], Options::default())?;
    let up = start(&[CURRENT]).await?;
    create_with(&up, &lab, &machines, &[], json!({})).await?;
    until_begun(&up, "EnsureJoinPhaseControlPlaneJoinETCD").await?;
    machines[0].power_off()?;
    let lost = until_failed(&up, "EnsureJoinPhaseControlPlaneJoinETCD").await?;
    ensure!(lost.starts_with("demo-10-89-0-11: "), "{lost}");
    machines[0].power_on()?;
    retry(&up)?;
    until_running(&up, 2).await?;
    let ready = nodes(&["cp1", "cp2"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, ready);
    Ok(())
}

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn a_machine_that_reboots_in_many_steps_becomes_a_node() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1"], Options::default())?;
    let up = start(&[CURRENT]).await?;
    create_with(&up, &lab, &machines, &[], json!({})).await?;
    let steps = [
        "EnsureSysctl",
        "EnsureContainerRuntime",
        "EnsureKubernetesImages",
        "EnsureKubeadmInitPhaseCerts",
        "EnsureKubeadmInitPhaseControlPlane",
        "EnsureKubeadmInitPhaseWaitControlPlane",
        "EnsureKubeadmInitPhaseBootstrapToken",
        "EnsureNodeReady",
    ];
    for step in steps {
        until_begun(&up, step).await?;
        machines[0].power_off()?;
        machines[0].power_on()?;
        // Where attempts are used up, the user asks for another one.
        retry(&up)?;
    }
    until_running(&up, 1).await?;
    let ready = nodes(&["cp1"], CURRENT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, ready);
    Ok(())
}
