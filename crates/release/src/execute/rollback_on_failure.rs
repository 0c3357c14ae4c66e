//! Rolls a failed upgrade back to the deployed revision, and uninstalls a failed install.

use super::Context;
use crate::action::Action;
use crate::action_error::ActionError;
use crate::options::Options;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::rollback::rollback;
use crate::uninstall::uninstall;

/// Rolls back if the options ask for it, and returns the error of the action with the result of the rollback.
pub(super) async fn roll_back(
    context: &Context<'_>,
    plan: &Plan,
    error: ActionError,
) -> ActionError {
    if !context.options.rollback_on_failure || plan.action == Action::Rollback {
        return error;
    }
    let options = Options {
        rollback_on_failure: false,
        keep_history: false,
        description: None,
        ..context.options.clone()
    };
    let deployed = plan.observed.history.deployed();
    let to = deployed.map(|deployed| deployed.revision);
    (context.progress)(Progress::RollingBack { to });
    let (cluster, id) = (context.cluster, &plan.release);
    let result = if to.is_some() {
        let rollback = rollback(cluster, id, to, &options, context.progress);
        Box::pin(rollback)
            .await
            .map(|outcome| Some(outcome.revision))
    } else {
        let uninstall = uninstall(cluster, id, &[], &options, context.progress);
        Box::pin(uninstall).await.map(|_| None)
    };
    let release = id.to_string();
    let source = Box::new(error);
    match result {
        Ok(Some(revision)) => ActionError::RolledBack {
            release,
            revision,
            source,
        },
        Ok(None) => ActionError::Uninstalled { release, source },
        Err(rollback) => ActionError::RollbackFailed {
            source,
            rollback: Box::new(rollback),
        },
    }
}
