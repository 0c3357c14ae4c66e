//! `EnsureKubelet`: installs kubelet and its service.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::kubeadm::copy_programs;
use crate::provider::baremetal::files::{self, Files, Placed};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct Kubelet(pub(super) Arc<Files>);

impl Kubelet {
    fn programs(&self, input: &StepInput<'_>) -> Vec<Placed<'_>> {
        let release = self.0.release(input.cluster, input.machine);
        release.map_or_else(Vec::new, |release| files::programs(release, &["kubelet"]))
    }

    fn work(&self, input: &StepInput<'_>) -> Work {
        let programs = self.programs(input);
        let digest = programs.first().map(|it| it.file.sha256.clone());
        Work::new("install kubelet", include_str!("../scripts/kubelet.sh"))
            .with("PROGRAM_DIGEST", digest.unwrap_or_default())
    }

    async fn install(&self, effect: Effect<'_>) -> Result<(), StepError> {
        let input = effect.input();
        copy_programs(&self.0, &self.programs(&input), effect).await?;
        self.work(&input).attempt(effect, &[]).await
    }
}

impl Step for Kubelet {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        Some(self.work(input).plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), self.install(effect).await) }.boxed()
    }

    fn copied_bytes(&self, input: &StepInput<'_>) -> u64 {
        self.programs(input).iter().map(|it| it.file.size).sum()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
