//! `EnsureKubeadm`: installs kubeadm and crictl, and kubectl on control planes, where commands for the cluster run.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::MachineRole;

use crate::changes::Change;
use crate::provider::baremetal::files::{self, Files, Placed};
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct Kubeadm(pub(super) Arc<Files>);

impl Kubeadm {
    fn programs(&self, input: &StepInput<'_>) -> Vec<Placed<'_>> {
        let role = input.machine.map(|machine| machine.spec.role);
        let names: &[&str] = match role {
            Some(MachineRole::Worker) => &["kubeadm", "crictl"],
            _ => &["kubeadm", "kubectl", "crictl"],
        };
        let release = self.0.release(input.cluster, input.machine);
        release.map_or_else(Vec::new, |release| files::programs(release, names))
    }
}

/// Copies programs. What they replace comes back when the cluster is deleted.
pub(super) async fn copy_programs(
    files: &Files,
    programs: &[Placed<'_>],
    effect: Effect<'_>,
) -> Result<(), StepError> {
    let destinations: Vec<&str> = programs.iter().map(|it| &*it.destination).collect();
    let uid = effect.cluster.metadata.uid.clone().unwrap_or_default();
    let claim = "begin\nfor file in $FILES; do claim \"$file\"; done\n";
    Work::new("record the programs", claim)
        .with("FILES", destinations.join(" "))
        .with("CLUSTER", uid)
        .query(effect.remote)
        .await?;
    let tree = files.tree(programs).await?;
    Ok(effect.remote.copy(&tree).await?)
}

impl Step for Kubeadm {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let programs = self.programs(input);
        let digests: Vec<&str> = programs.iter().map(|it| &*it.file.sha256).collect();
        let names: Vec<&str> = programs.iter().map(|it| &*it.file.name).collect();
        Some(StepPlan {
            digest: digest(&digests),
            text: format!("install {}", names.join(", ")),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let programs = self.programs(&effect.input());
            (
                Report::default(),
                copy_programs(&self.0, &programs, effect).await,
            )
        }
        .boxed()
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let programs = self.programs(input);
        programs.iter().map(Placed::change).collect()
    }

    fn copied_bytes(&self, input: &StepInput<'_>) -> u64 {
        self.programs(input).iter().map(|it| it.file.size).sum()
    }
}
