//! `EnsureRegistryHosts`: mirrors of registries, with their CA certificates and credentials.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::cluster::{Cluster, RegistryMirror};
use outrigger_api::step::FlowName;

use crate::changes::Change;
use crate::lifecycle::current_run;
use crate::provider::baremetal::registry_hosts::{FOLDER, folder, lines};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct RegistryHosts;

/// Credentials are not part of the input: those of a Secret that changes are written by the next flow.
fn work(cluster: &Cluster) -> Option<Work> {
    let mirrors = &cluster.spec.registry_mirrors;
    // Those that machines had are removed.
    let is_updated = current_run(cluster).is_some_and(|run| run.flow == FlowName::UpdateRegistries);
    if mirrors.is_empty() && !is_updated {
        return None;
    }
    let text = match mirrors.len() {
        1 => "configure 1 mirror of registries".to_owned(),
        count => format!("configure {count} mirrors of registries"),
    };
    let input = serde_json::to_string(mirrors).unwrap_or_default();
    let work = Work::new(text, include_str!("../scripts/registry_hosts.sh"));
    Some(work.with("INPUT", input))
}

async fn configure(effect: Effect<'_>) -> Result<(), StepError> {
    let Some(work) = work(effect.cluster) else {
        return Ok(());
    };
    let mut mirrors = Vec::new();
    for mirror in &effect.cluster.spec.registry_mirrors {
        let credentials = match &mirror.secret_ref {
            Some(reference) => Some(effect.peers.registry_credentials(reference).await?),
            None => None,
        };
        mirrors.push((mirror, credentials));
    }
    work.attempt(effect, &[("MIRRORS", lines(&mirrors))]).await
}

/// The files of a mirror.
fn files(mirror: &RegistryMirror) -> Vec<Change> {
    let names = [
        ("hosts.toml", true),
        ("ca.crt", mirror.ca_certificate.is_some()),
    ];
    let names = names.into_iter().filter(|(_, is_written)| *is_written);
    let paths = names.map(|(name, _)| format!("{FOLDER}/{}/{name}", folder(mirror)));
    paths.map(|path| Change::Write { path }).collect()
}

impl Step for RegistryHosts {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        work(input.cluster).map(|work| work.plan())
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let mirrors = input.cluster.spec.registry_mirrors.iter();
        mirrors.flat_map(files).collect()
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), configure(effect).await) }.boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
