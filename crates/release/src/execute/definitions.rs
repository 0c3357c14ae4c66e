//! Installs the definitions of the folder `crds`, and waits until their kinds are served.

use std::time::Duration;

use futures::future::try_join_all;

use super::Context;
use crate::cluster::Apply;
use crate::desired::Object;
use crate::error::Error;
use crate::failure::Failure;
use crate::health::Awaited;
use crate::options::Crds;
use crate::plan::Plan;
use crate::progress::Progress;

/// The server tells of new kinds a moment after it established them; it is asked again after this long.
const ASK_AGAIN: Duration = Duration::from_millis(20);
const MAX_ASK_AGAIN: Duration = Duration::from_secs(1);

pub(super) async fn install(context: &Context<'_>, plan: &Plan) -> Result<(), Failure> {
    let definitions: Vec<&Object> = plan
        .desired()
        .definitions()
        .iter()
        .filter(|definition| {
            let mut steps = plan.definitions.iter();
            steps.any(|step| step.object == *definition.id())
        })
        .collect();
    if definitions.is_empty() {
        return Ok(());
    }
    // Definitions that are brought up to date may have been made by anybody.
    let how = Apply {
        force: context.options.force || context.options.crds == Crds::Replace,
        ..Apply::default()
    };
    let applied = definitions.iter().map(|definition| async move {
        let state = context
            .cluster
            .apply(definition.id(), definition.body(), how)
            .await?;
        Ok::<_, Error>(Awaited::object(definition.id().clone(), Some(state)))
    });
    let awaited = try_join_all(applied).await?;
    let waited = context.until_healthy(awaited).await;
    waited.map_err(Failure::Unhealthy)?;
    served(context, &definitions).await?;
    for definition in definitions {
        (context.progress)(Progress::Defined {
            object: definition.id().clone(),
        });
    }
    Ok(())
}

/// Waits until the server tells of all kinds that were defined.
async fn served(context: &Context<'_>, definitions: &[&Object]) -> Result<(), Failure> {
    let mut pause = ASK_AGAIN;
    loop {
        context.cluster.forget();
        let kinds = context.cluster.kinds().await?;
        let bodies = definitions.iter().map(|definition| definition.body());
        let with = kinds.with_definitions(bodies);
        if with.capabilities() == kinds.capabilities() {
            return Ok(());
        }
        if tokio::time::Instant::now() + pause > context.deadline {
            return Err(Failure::TimedOut);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_ASK_AGAIN);
    }
}
