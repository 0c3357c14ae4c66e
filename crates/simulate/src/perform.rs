//! Does through the API what a state machine asked for.

use outrigger_apiserver::local::{Error, Local, Patch, Place};
use serde_json::{Value, json};

use super::node;
use super::object::namespace;
use super::step::Action;
use super::world::{Id, collection};

/// What an action has brought about.
#[derive(Debug)]
pub(super) enum Effect {
    Put(&'static str, Value),
    Removed(Id),
}

/// What a list of actions has brought about, and whether all of them succeeded.
#[derive(Debug)]
pub(super) struct Performed {
    pub(super) effects: Vec<Effect>,
    pub(super) is_complete: bool,
}

/// Does the actions in order until one fails.
pub(super) async fn perform(local: &Local, actions: Vec<Action>) -> Performed {
    let mut effects = Vec::new();
    for action in actions {
        match one(local, &action).await {
            Ok(effect) => effects.push(effect),
            Err(error) if error.is_not_found() && is_about_one(&action) => {}
            Err(error) => {
                // A namespace that is being deleted takes nothing new.
                if !error.is_conflict() && error.code() != Some(403) {
                    tracing::warn!(%action, %error, "the simulation failed");
                }
                return Performed {
                    effects,
                    is_complete: false,
                };
            }
        }
    }
    Performed {
        effects,
        is_complete: true,
    }
}

/// Whether the action is about an object that may be gone.
fn is_about_one(action: &Action) -> bool {
    !matches!(action, Action::Create(..))
}

async fn one(local: &Local, action: &Action) -> Result<Effect, Error> {
    Ok(match action {
        Action::Create(plural, object) => {
            let place = collection(plural).within(namespace(object));
            Effect::Put(plural, local.create(&place, object).await?)
        }
        Action::Patch(id, change) => {
            let object = local.patch(&id.place(), Patch::Merge, change).await?;
            Effect::Put(id.plural, object)
        }
        Action::Status(id, change) => {
            let object = local
                .patch_status(&id.place(), &json!({"status": change}))
                .await?;
            Effect::Put(id.plural, object)
        }
        Action::Annotate(id, annotations) => {
            let change = json!({"metadata": {"annotations": annotations}});
            Effect::Put(id.plural, local.patch_status(&id.place(), &change).await?)
        }
        Action::Bind(id) => {
            bind(local, id).await?;
            let object = local.get(&id.place()).await?;
            Effect::Put(id.plural, object)
        }
        Action::Delete(id) => deleted(id, local.delete(&id.place(), &background()).await?),
        Action::DeleteNow(id) => {
            let mut options = background();
            options["gracePeriodSeconds"] = 0.into();
            let answer = local.delete(&id.place(), &options).await?;
            // The answer is the last version of a pod that is gone.
            if answer["metadata"]["finalizers"].is_null() {
                Effect::Removed(id.clone())
            } else {
                deleted(id, answer)
            }
        }
    })
}

fn background() -> Value {
    json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
}

/// The answer is the object while it is not gone yet.
fn deleted(id: &Id, answer: Value) -> Effect {
    let is_gone = answer["kind"] == "Status" || answer["metadata"]["deletionTimestamp"].is_null();
    if is_gone {
        Effect::Removed(id.clone())
    } else {
        Effect::Put(id.plural, answer)
    }
}

async fn bind(local: &Local, id: &Id) -> Result<(), Error> {
    let place = Place {
        plural: format!("pods/{}/binding", id.name),
        ..collection("pods").within(&id.namespace)
    };
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": id.name, "namespace": id.namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node::NAME},
    });
    local.create(&place, &binding).await?;
    Ok(())
}
