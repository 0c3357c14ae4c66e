//! Connects to machines with the credentials of their objects.

use anyhow::Context as _;
use futures::stream::StreamExt as _;
use kube::{Client, ResourceExt as _};
use outrigger_api::machine::Machine;
use outrigger_cluster::Ssh;

/// Machines that are worked on at the same time.
const LIMIT: usize = 50;

/// What was done on a machine.
pub(crate) struct OnMachine<T> {
    pub(crate) name: String,
    pub(crate) result: anyhow::Result<T>,
}

/// A machine, which is connected to when it is used.
pub(crate) async fn connect(
    client: &Client,
    ssh: &Ssh,
    machine: &Machine,
) -> anyhow::Result<outrigger_node::Machine> {
    let login = outrigger_controller::machine_login(client, machine).await;
    Ok(ssh.machine(&login.map_err(anyhow::Error::msg)?)?)
}

/// Does something on each machine, and passes on the results as they arrive.
pub(crate) async fn on_each<T>(
    client: &Client,
    machines: Vec<Machine>,
    work: impl AsyncFn(&outrigger_node::Machine) -> anyhow::Result<T>,
    mut on_result: impl FnMut(OnMachine<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let ssh = Ssh::default();
    let works = machines.into_iter().map(|machine| {
        let (ssh, work) = (&ssh, &work);
        async move {
            let result = async { work(&connect(client, ssh, &machine).await?).await };
            let name = machine.name_any();
            let result = result.await.with_context(|| format!("machine {name}"));
            OnMachine { name, result }
        }
    });
    let mut results = std::pin::pin!(futures::stream::iter(works).buffer_unordered(LIMIT));
    while let Some(result) = results.next().await {
        on_result(result)?;
    }
    Ok(())
}
