//! `EnsureRenewalPreflight`: reports every control plane whose certificates cannot be renewed. Changes nothing.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::all_control_planes;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct RenewalPreflight;

fn work() -> Work {
    let script = include_str!("../scripts/renewal_preflight.sh");
    Work::new("check that certificates can be renewed", script)
}

impl Step for RenewalPreflight {
    fn plan(&self, _: &StepInput<'_>) -> Option<StepPlan> {
        Some(work().plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let checked = all_control_planes(effect, |_| work()).await;
            (Report::default(), checked.map(drop))
        }
        .boxed()
    }
}
