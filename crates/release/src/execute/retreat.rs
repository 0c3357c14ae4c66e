//! The way back after a failure: to the last good revision, or to nothing.

use super::Context;
use crate::action::Action;
use crate::failure::Failure;
use crate::options::Options;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::rollback::rollback;
use crate::uninstall::uninstall;

/// Goes back if that is wanted, and gives the failure with what came of that.
pub(super) async fn retreat(context: &Context<'_>, plan: &Plan, failure: Failure) -> Failure {
    if !context.options.rollback_on_failure || plan.action == Action::Rollback {
        return failure;
    }
    let options = Options {
        rollback_on_failure: false,
        keep_history: false,
        description: None,
        ..context.options.clone()
    };
    let release = plan.release.to_string();
    let deployed = plan.work.observed.past.deployed();
    let to = deployed.map(|deployed| deployed.revision);
    (context.progress)(Progress::RollingBack { to });
    let cluster = context.cluster;
    let id = &plan.release;
    if to.is_none() {
        let away = uninstall(cluster, id, &[], &options, context.progress);
        return match Box::pin(away).await {
            Ok(_) => Failure::Uninstalled {
                release,
                source: Box::new(failure),
            },
            Err(way_back) => stuck(failure, way_back),
        };
    }
    let back = rollback(cluster, id, to, &options, context.progress);
    match Box::pin(back).await {
        Ok(outcome) => Failure::RolledBack {
            release,
            revision: outcome.revision,
            source: Box::new(failure),
        },
        Err(way_back) => stuck(failure, way_back),
    }
}

fn stuck(failure: Failure, rollback: Failure) -> Failure {
    Failure::Stuck {
        source: Box::new(failure),
        rollback: Box::new(rollback),
    }
}
