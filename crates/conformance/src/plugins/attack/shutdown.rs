//! SIGTERM while charts loop, repositories are silent and hooks run.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::runtime::wait::await_condition;
use serde_json::json;

use super::good_plugin::TIMEOUT;
use super::hostile_charts::LOOP;
use super::repositories::{self, Behavior};
use crate::plugins::cluster::Cluster;
use crate::process::{Controller, signal};
use crate::procfs;

/// Plugins of each kind.
const PLUGINS: usize = 20;
const SHUTDOWNS: usize = 5;
const LIMIT: Duration = Duration::from_secs(1);

/// A controller that has used this much CPU time renders the charts that loop.
const BUSY: Duration = Duration::from_secs(2);

const HOOK: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}
  annotations: {helm.sh/hook: pre-install, outrigger.dev/simulate: slow=600}
spec:
  template:
    metadata: {annotations: {outrigger.dev/simulate: slow=600}}
    spec: {restartPolicy: Never, containers: [{name: a, image: example.com/a:1}]}
";

/// Each controller ends within a second, and releases its lease.
pub(super) async fn attack(cluster: &Cluster, first: &Controller) -> anyhow::Result<String> {
    // It has no lease; only the elected ones are to reconcile.
    signal("STOP", first.pid()?).await?;
    create_plugins(cluster).await?;
    let mut longest = Duration::ZERO;
    for _ in 0..SHUTDOWNS {
        let controller = cluster.start_elected_controller()?;
        until_busy(cluster, &controller).await?;
        let (status, elapsed) = controller.terminate().await?;
        ensure!(elapsed < LIMIT, "the shutdown took {elapsed:?}");
        ensure!(status.success(), "the controller ended with {status}");
        let lease = leases(cluster).get("outrigger-controller").await?;
        ensure!(!is_held(Some(&lease)), "the lease is not released");
        longest = longest.max(elapsed);
    }
    Ok(format!(
        "{SHUTDOWNS} shutdowns take at most {:.2} s, and release the lease",
        longest.as_secs_f64()
    ))
}

async fn create_plugins(cluster: &Cluster) -> anyhow::Result<()> {
    let plugins = &cluster.plugins;
    plugins.write_chart("loop", LOOP)?;
    plugins.write_chart("hook", HOOK)?;
    let mut created = Vec::new();
    for number in 0..PLUGINS {
        let address = repositories::serve(Behavior::Silent, number).await?;
        let silent = json!({"repo": format!("http://{address}/charts")});
        for (kind, spec) in [
            ("loop", json!({"chart": "loop"})),
            ("hook", json!({"chart": "hook"})),
            ("silent", silent),
        ] {
            created.push(plugins.plugin(&format!("{kind}-{number}"), spec)?);
        }
    }
    plugins.create(created).await
}

/// Waits until a controller leads and works.
async fn until_busy(cluster: &Cluster, controller: &Controller) -> anyhow::Result<()> {
    let led = await_condition(leases(cluster), "outrigger-controller", is_held);
    let led = tokio::time::timeout(TIMEOUT, led).await;
    led.context("no controller acquires the lease")??;
    let busy = async {
        while procfs::cpu_time(controller.pid()?)? < BUSY {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    let busy = tokio::time::timeout(TIMEOUT, busy).await;
    busy.context("the controller does nothing")?
}

fn leases(cluster: &Cluster) -> Api<Lease> {
    Api::default_namespaced(cluster.client.clone())
}

fn is_held(lease: Option<&Lease>) -> bool {
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
    holder.is_some_and(|holder| !holder.is_empty())
}
