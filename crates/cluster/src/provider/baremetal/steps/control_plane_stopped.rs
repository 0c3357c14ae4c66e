//! `EnsureControlPlaneStopped`: makes sure that no member of etcd runs any more before one is restored.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::all_control_planes;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct ControlPlaneStopped;

fn work() -> Work {
    let script = include_str!("../scripts/control_plane_stopped.sh");
    Work::new("check that the control plane is stopped", script)
}

impl Step for ControlPlaneStopped {
    fn plan(&self, _: &StepInput<'_>) -> Option<StepPlan> {
        Some(work().plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let stopped = all_control_planes(effect, |_| work()).await;
            (Report::default(), stopped.map(drop))
        }
        .boxed()
    }
}
