//! Real clusters on machines of the lab: benchmarks, crash tests, and Kubernetes' own specs.

use outrigger_testing::lab::Lab;

pub(crate) mod bench;
pub(crate) mod crash;
mod faults;
mod kubeadm;
mod kubeadm_calls;
mod machines;
mod snapshot;
mod steps;

/// Works in the network of a new lab, in a thread and a runtime of its own: namespaces belong to threads.
pub(crate) async fn in_lab<T: Send + 'static>(
    work: impl AsyncFnOnce(&Lab) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let worked = tokio::task::spawn_blocking(move || {
        let lab = Lab::new()?;
        let _network = lab.enter()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(work(&lab))
    });
    worked.await?
}
