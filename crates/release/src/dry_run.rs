//! Asks the API server what it would refuse, without changing anything.

use futures::stream::{self, StreamExt as _};

use crate::action_error::ActionError;
use crate::cluster::{ApplyOptions, CONCURRENT_REQUESTS, Cluster};
use crate::desired::Object;
use crate::error::Error;
use crate::managed_fields;
use crate::options::{Conflicts, Options};
use crate::plan::{Change, Plan, Step, is_terminating};

/// Applies the changed objects of a plan as a dry run. Reports what the API server would refuse when the plan is executed,
/// such as fields of other managers. What depends on the account, or on objects that the plan creates, is not reported.
pub async fn dry_run(cluster: &Cluster, plan: &Plan, options: &Options) -> Result<(), ActionError> {
    let objects = plan.desired.objects().iter().zip(&plan.objects);
    let mut work = Vec::new();
    for (object, step) in objects {
        if is_comparable(plan, object, step) {
            work.push(apply(cluster, object, step.change, options));
        }
    }
    let mut results = stream::iter(work).buffered(CONCURRENT_REQUESTS);
    let mut errors = Vec::new();
    while let Some(result) = results.next().await {
        errors.extend(result.err().filter(is_refusal));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ActionError::Apply(errors))
}

/// Whether the object is written as it is now. Fields that Helm 3 applied client-side are converted first.
fn is_comparable(plan: &Plan, object: &Object, step: &Step) -> bool {
    let is_written = matches!(step.change, Change::Update | Change::Adopt);
    let live = plan.observed.live(object.id());
    let is_converted = |live| is_terminating(live) || managed_fields::needs_upgrade(live);
    is_written && live.is_some_and(|live| !is_converted(live))
}

async fn apply(
    cluster: &Cluster,
    object: &Object,
    change: Change,
    options: &Options,
) -> Result<(), Error> {
    let conflicts = options.conflicts_of(object.id());
    let options = ApplyOptions {
        force_conflicts: conflicts != Conflicts::Fail || change == Change::Adopt,
        create_only: false,
        dry_run: true,
    };
    cluster.apply(object.id(), object.body(), options).await?;
    Ok(())
}

/// Whether the server would refuse the object for any account.
fn is_refusal(error: &Error) -> bool {
    if error.is_transient() || matches!(error, Error::UnknownKinds(_)) {
        return false;
    }
    let Some(status) = error.status() else {
        return true;
    };
    // The messages of RBAC: `User "x" cannot patch resource "configmaps"`.
    let is_missing_permission = status.code == 403 && status.message.contains(" cannot ");
    status.code != 404 && !is_missing_permission
}
