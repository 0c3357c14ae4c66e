//! `EnsurePrepareForControlplane` and `EnsureKubeadmInitPhase…`: phases of `kubeadm init` on the first machine.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::is_first;
use crate::changes::Change;
use crate::lifecycle::installed_version;
use crate::provider::baremetal::kubeadm_config;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

/// The phases of each step, one in a line.
pub(super) const PHASES: [(&str, &str); 9] = [
    ("EnsurePrepareForControlplane", "preflight"),
    ("EnsureKubeadmInitPhaseKubeletStart", "kubelet-start"),
    ("EnsureKubeadmInitPhaseCerts", "certs all"),
    ("EnsureKubeadmInitPhaseKubeConfig", "kubeconfig all"),
    ("EnsureKubeadmInitPhaseControlPlane", "control-plane all"),
    ("EnsureKubeadmInitPhaseETCD", "etcd local"),
    ("EnsureKubeadmInitPhaseUploadConfig", "upload-config all"),
    (
        "EnsureKubeadmInitPhaseBootstrapToken",
        "bootstrap-token --skip-token-print\nkubelet-finalize all",
    ),
    ("EnsureKubeadmInitPhaseAddon", "addon all"),
];

pub(super) struct InitPhase(pub(super) &'static str);

impl InitPhase {
    fn work(&self, input: &StepInput<'_>) -> Option<Work> {
        let machine = input.machine.filter(|_| is_first(input))?;
        // A first machine that is replaced joins.
        if installed_version(input.cluster).is_some() {
            return None;
        }
        let phase = self.0.split([' ', '\n']).next().unwrap_or_default();
        let text = format!("kubeadm init phase {phase}");
        let work = Work::new(text, include_str!("../scripts/init_phases.sh"))
            .with("PHASES", self.0)
            .with("CONFIG", kubeadm_config::init(input.cluster, machine));
        Some(work)
    }
}

impl Step for InitPhase {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        self.work(input).map(|work| work.plan())
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        if self.work(input).is_none() {
            return Vec::new();
        }
        let phases = self.0.lines();
        let commands = phases.map(|phase| format!("kubeadm init phase {phase}"));
        commands.map(|command| Change::Run { command }).collect()
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let result = match self.work(&effect.input()) {
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
