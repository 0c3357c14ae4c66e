//! Taking away what a plugin added. There is always a way out: force, and clusters that are gone.

use std::time::{Duration, Instant};

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::Plugin;
use outrigger_release::ObjectId;
use serde_json::{Value, json};

use super::{Listener, failed, inventory, options, release_id, watched};
use crate::conditions::READY;
use crate::decide::{self, Obstacle};
use crate::events::Story;
use crate::key::Key;
use crate::pass::Pass;
use crate::status::MANAGER;
use crate::trouble::{self, Trouble};

/// How long a forced removal tries to take things away.
const FORCED_WITHIN: Duration = Duration::from_secs(10);

/// Removes what a plugin added, then lets it go. True if the plugin is gone.
pub(crate) async fn remove(pass: &mut Pass, force: bool) -> bool {
    pass.tries.began.get_or_insert_with(Instant::now);
    pass.draft.removing("");
    let what = inventory::text(&pass.facts.status.inventory);
    // A deletion is never taken back; a plugin that is switched off may be switched on again.
    if !decide::is_deleted(&pass.saved)
        && let Err(trouble) = pass.withdraw().await
    {
        pass.handle(trouble);
        return false;
    }
    let result = uninstall(pass, force).await;
    let story = match result {
        Ok(()) => Story::good("Removed", "all that it added is gone"),
        Err(Trouble::Superseded) => {
            pass.handle(Trouble::Superseded);
            return false;
        }
        // Where the cluster was, nobody knows any more.
        Err(Trouble::Wait(obstacle)) => Story::bad(
            "Orphaned",
            format!("{}; what is left there stays: {what}", obstacle.message),
        ),
        Err(trouble) if force => Story::bad(
            "Orphaned",
            format!(
                "removed by force though something may be left: {what} ({})",
                words(&trouble)
            ),
        ),
        Err(trouble) => {
            later(pass, &trouble);
            return false;
        }
    };
    let_go(pass, story).await
}

/// Drops the finalizer, and says that nothing is left.
async fn let_go(pass: &mut Pass, story: Story) -> bool {
    let is_deleted = decide::is_deleted(&pass.saved);
    pass.tell(story);
    if let Err(trouble) = pass.write_finalizer(false).await {
        pass.handle(trouble);
        return false;
    }
    pass.tries = crate::facts::Tries::default();
    pass.draft.off();
    is_deleted
}

/// It did not work this time; it is tried again for ever, with growing pauses.
fn later(pass: &mut Pass, trouble: &Trouble) {
    pass.tries.unanswered += 1;
    let pause = pass.ctx.options.backoff.pause(pass.tries.unanswered);
    pass.look_again(Instant::now() + pause);
    let words = words(trouble);
    if pass.tries.unanswered == 1 {
        pass.tell(Story::bad("RemovalFailed", words.clone()));
    }
    let text =
        format!("{words}; it is tried again, and goes at once with the annotation {FORCE}=true");
    pass.draft.removing(&text);
    pass.hurry();
}

fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Wait(obstacle)
        | Trouble::Refuse(obstacle)
        | Trouble::Failed { obstacle, .. }
        | Trouble::Unanswered { obstacle, .. } => obstacle.message.clone(),
        Trouble::Superseded => String::new(),
    }
}

async fn uninstall(pass: &mut Pass, force: bool) -> Result<(), Trouble> {
    let plugin = std::sync::Arc::clone(&pass.facts.plugin);
    let target = pass.ctx.targets.of(&plugin).await?;
    let mut options = options(&pass.ctx.options, &plugin)?;
    options.wait = true;
    let also: Vec<ObjectId> = pass
        .facts
        .status
        .inventory
        .iter()
        .map(inventory::object_id)
        .collect();
    let listener = Listener::new(pass);
    // A status may be of another place than the spec is now.
    let id = installed_id(pass, &plugin);
    let work = Box::pin(async {
        let sink = |progress| listener.hear(progress);
        let removed = outrigger_release::uninstall(&target.cluster, &id, &also, &options, &sink);
        if force {
            let removed = tokio::time::timeout(FORCED_WITHIN, removed).await;
            let removed = removed.unwrap_or(Err(outrigger_release::ActionError::TimedOut));
            removed.map_err(|failure| failed(&failure))
        } else {
            removed.await.map_err(|failure| failed(&failure))
        }
    });
    watched(pass, work, &listener).await?;
    Ok(())
}

fn installed_id(pass: &Pass, plugin: &Plugin) -> outrigger_release::ReleaseId {
    let status = &pass.facts.status;
    match (&status.namespace, &status.release_name) {
        (Some(namespace), Some(name)) => {
            outrigger_release::ReleaseId::new(namespace.clone(), name.clone())
        }
        _ => release_id(plugin),
    }
}

/// Asks dependants to go the same way: off or away, and theirs before them.
pub(crate) async fn cascade(pass: &Pass, keys: &[Key]) -> Result<(), Trouble> {
    let is_deleted = decide::is_deleted(&pass.facts.plugin);
    for key in keys {
        let api: Api<Plugin> = Api::namespaced(pass.ctx.client.clone(), &key.namespace);
        let mut patch = json!({"metadata": {"annotations": {CASCADE: "true"}}});
        if !is_deleted {
            patch["spec"] = json!({"enabled": false});
        }
        patched(&api, key, &patch).await?;
        if is_deleted {
            let deleted = api.delete(&key.name, &DeleteParams::default()).await;
            ignore_missing(deleted.map(|_| ()))?;
        }
    }
    Ok(())
}

async fn patched(api: &Api<Plugin>, key: &Key, patch: &Value) -> Result<(), Trouble> {
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patched = api
        .patch(&key.name, &parameters, &Patch::Merge(patch))
        .await;
    ignore_missing(patched.map(|_| ()))
}

fn ignore_missing(result: Result<(), kube::Error>) -> Result<(), Trouble> {
    match result {
        Ok(()) => Ok(()),
        Err(kube::Error::Api(reply)) if reply.code == 404 => Ok(()),
        Err(error) if trouble::is_transient(&error) => Err(trouble::unanswered(READY, &error)),
        Err(error) => Err(Trouble::Failed {
            condition: READY,
            obstacle: Obstacle::new("CascadeFailed", trouble::chain(&error)),
        }),
    }
}
