//! `ControllerRevisions`: the history of the pod template of a `StatefulSet` or `DaemonSet`.

use serde_json::{Value, json};

use super::cache::ObjectRef;
use super::object::{compute_hash, controller_reference, integer, name, namespace, uid};
use super::plan::{Action, Context};
use super::pod_template::without_hash;

/// The label of pods with the revision that they were created from.
pub(super) const HASH: &str = "controller-revision-hash";

#[derive(Debug)]
pub(super) struct Revisions {
    /// The name of the revision of the current template.
    pub(super) update_revision: String,
    /// Creates the revision if needed, and deletes those beyond the history limit.
    pub(super) actions: Vec<Action>,
}

impl Revisions {
    pub(super) fn of(owner: &Value, kind: &str, ctx: &Context<'_>) -> Self {
        let template = without_hash(&owner["spec"]["template"], HASH);
        let hash = compute_hash(&template);
        let known = ctx.cache.controlled("controllerrevisions", uid(owner));
        let full = format!("{}-{hash}", name(owner));
        let highest = known
            .iter()
            .filter_map(|revision| integer(&revision["revision"]))
            .max()
            .unwrap_or(0);
        let mut actions = Vec::new();
        match known.iter().find(|revision| name(revision) == full) {
            None => actions.push(Action::Create(
                "controllerrevisions",
                json!({
                    "apiVersion": "apps/v1",
                    "kind": "ControllerRevision",
                    "metadata": {
                        "name": full,
                        "namespace": namespace(owner),
                        "labels": labels(owner, kind, &hash),
                        "ownerReferences": controller_reference(owner, "apps/v1", kind),
                    },
                    "data": {"spec": {"template": as_patch(&template)}},
                    "revision": highest.saturating_add(1),
                }),
            )),
            // A rollback makes an old revision the latest.
            Some(revision) if integer(&revision["revision"]).unwrap_or(0) < highest => {
                let id = ObjectRef::of("controllerrevisions", revision);
                actions.push(Action::Patch(
                    id,
                    json!({"revision": highest.saturating_add(1)}),
                ));
            }
            Some(_) => {}
        }
        let limit = integer(&owner["spec"]["revisionHistoryLimit"]).unwrap_or(10);
        let mut old: Vec<_> = known
            .into_iter()
            .filter(|revision| name(revision) != full)
            .collect();
        old.sort_by_key(|revision| integer(&revision["revision"]));
        let surplus = old
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or(0));
        let surplus = old.iter().take(surplus);
        actions.extend(
            surplus.map(|revision| Action::Delete(ObjectRef::of("controllerrevisions", revision))),
        );
        Self {
            update_revision: full,
            actions,
        }
    }

    /// The name of the update revision without the name of the workload.
    pub(super) fn hash(&self) -> &str {
        self.update_revision.rsplit('-').next().unwrap_or_default()
    }
}

fn labels(owner: &Value, kind: &str, hash: &str) -> Value {
    let mut labels = owner["spec"]["template"]["metadata"]["labels"].clone();
    let key = if kind == "StatefulSet" {
        "controller.kubernetes.io/hash"
    } else {
        HASH
    };
    labels[key] = hash.into();
    labels
}

/// The template in a revision is a patch that replaces.
fn as_patch(template: &Value) -> Value {
    let mut template = template.clone();
    template["$patch"] = "replace".into();
    template
}
