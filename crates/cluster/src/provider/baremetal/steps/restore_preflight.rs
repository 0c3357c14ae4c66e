//! `EnsureRestorePreflight`: reports every control plane that cannot be restored. Changes nothing.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;

use super::all_control_planes;
use crate::backup::Description;
use crate::provider::baremetal::backup::requested;
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct RestorePreflight;

async fn check(effect: Effect<'_>) -> Result<(), StepError> {
    let Some(backup) = requested(effect.cluster) else {
        return Ok(());
    };
    let backup = backup.map_err(StepError::Provider)?;
    let work = || {
        let script = include_str!("../scripts/restore_preflight.sh");
        Work::new("check the backup", script).with("BACKUP", backup)
    };
    for (machine, answer) in all_control_planes(effect, |_| work()).await? {
        let name = machine.name_any();
        let refused = match serde_json::from_str::<Description>(&answer) {
            Ok(description) => description.refused(effect.cluster),
            Err(error) => Some(format!("its description is invalid: {error}")),
        };
        if let Some(reason) = refused {
            let message = format!("{name}: the backup cannot be restored: {reason}");
            return Err(StepError::Provider(message));
        }
    }
    Ok(())
}

impl Step for RestorePreflight {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let backup = requested(input.cluster)?.unwrap_or("");
        Some(StepPlan {
            digest: digest(&[backup]),
            text: "check that all control planes have the backup".to_owned(),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), check(effect).await) }.boxed()
    }
}
