//! Installs the CRDs of the chart's `crds` directory, and waits until their kinds are served.

use std::borrow::Cow;
use std::time::Duration;

use futures::future::try_join_all;

use super::Context;
use crate::action_error::ActionError;
use crate::cluster::ApplyOptions;
use crate::desired::Object;
use crate::error::Error;
use crate::health::WaitTarget;
use crate::options::{Conflicts, CrdPolicy};
use crate::ownership;
use crate::plan::Plan;
use crate::progress::Progress;

/// Discovery lags behind the Established condition; it is polled with this backoff.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn install(context: &Context<'_>, plan: &Plan) -> Result<(), ActionError> {
    let is_planned = |crd: &&Object| plan.crds.iter().any(|step| step.object == *crd.id());
    let crds: Vec<&Object> = plan.desired.crds().iter().filter(is_planned).collect();
    if crds.is_empty() {
        return Ok(());
    }
    // With `Replace`, any manager may own the fields of existing CRDs.
    let options = ApplyOptions {
        force_conflicts: context.options.conflicts == Conflicts::Take
            || context.options.crds == CrdPolicy::Replace,
        ..ApplyOptions::default()
    };
    let applied = crds.iter().map(|crd| async move {
        let mut body = Cow::Borrowed(crd.body());
        if context.options.crds == CrdPolicy::Replace {
            ownership::set_crd_owner(body.to_mut(), &plan.release.to_string());
        }
        let state = context.cluster.apply(crd.id(), &body, options).await?;
        Ok::<_, Error>(WaitTarget::object(crd.id().clone(), Some(state)))
    });
    let targets = try_join_all(applied).await?;
    context.wait(targets).await.map_err(ActionError::Wait)?;
    await_discovery(context, &crds).await?;
    for crd in crds {
        (context.progress)(Progress::CrdEstablished {
            object: crd.id().clone(),
        });
    }
    Ok(())
}

/// Waits until discovery includes the kinds of all CRDs.
async fn await_discovery(context: &Context<'_>, crds: &[&Object]) -> Result<(), ActionError> {
    let mut interval = MIN_POLL_INTERVAL;
    loop {
        context.cluster.invalidate_discovery();
        let resources = context.cluster.api_resources().await?;
        let with_crds = resources.with_crds(crds.iter().map(|crd| crd.body()));
        if with_crds.capabilities() == resources.capabilities() {
            return Ok(());
        }
        if tokio::time::Instant::now() + interval > context.deadline {
            return Err(ActionError::TimedOut);
        }
        tokio::time::sleep(interval).await;
        interval = (interval * 2).min(MAX_POLL_INTERVAL);
    }
}
