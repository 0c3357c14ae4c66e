//! `EnsureKubelet` and `EnsureUpgradeKubelet`: install kubelet and its service. An upgrade restarts it.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::kubeadm::copy_programs;
use crate::changes::Change;
use crate::provider::baremetal::files::{self, Files, Placed};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

const RESTART: &str = concat!(
    include_str!("../scripts/kubelet.sh"),
    include_str!("../scripts/restart_kubelet.sh")
);

pub(super) struct Kubelet {
    pub(super) files: Arc<Files>,
    pub(super) is_restarted: bool,
}

impl Kubelet {
    fn programs(&self, input: &StepInput<'_>) -> Vec<Placed<'_>> {
        let release = self.files.release(input.cluster, input.machine);
        release.map_or_else(Vec::new, |release| files::programs(release, &["kubelet"]))
    }

    fn work(&self, input: &StepInput<'_>) -> Work {
        let programs = self.programs(input);
        let digest = programs.first().map(|it| it.file.sha256.clone());
        let (text, script) = if self.is_restarted {
            ("install and restart kubelet", RESTART)
        } else {
            ("install kubelet", include_str!("../scripts/kubelet.sh"))
        };
        Work::new(text, script).with("PROGRAM_DIGEST", digest.unwrap_or_default())
    }

    async fn install(&self, effect: Effect<'_>) -> Result<(), StepError> {
        let input = effect.input();
        copy_programs(&self.files, &self.programs(&input), effect).await?;
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

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let programs = self.programs(input);
        let copied = programs.iter().map(Placed::change);
        copied.chain(self.work(input).changes()).collect()
    }

    fn copied_bytes(&self, input: &StepInput<'_>) -> u64 {
        self.programs(input).iter().map(|it| it.file.size).sum()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
