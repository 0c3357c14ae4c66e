//! `EnsureETCDSnapshot`: saves a snapshot of etcd on the first control plane, before an upgrade.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::lifecycle::{desired_version, installed_version};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct EtcdSnapshot;

fn work(input: &StepInput<'_>) -> Option<Work> {
    let installed = installed_version(input.cluster)?;
    let desired = desired_version(input.cluster);
    let file = format!("/var/lib/outrigger/node/backups/etcd-{installed}-before-{desired}.db");
    let work = Work::new(
        format!("save a snapshot of etcd in {file}"),
        include_str!("../scripts/etcd_snapshot.sh"),
    );
    Some(work.with("SNAPSHOT", file))
}

impl Step for EtcdSnapshot {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        work(input).map(|work| work.plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let result = match work(&effect.input()) {
                Some(work) => work.attempt(effect, &[]).await,
                None => Ok(()),
            };
            (Report::default(), result)
        }
        .boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
