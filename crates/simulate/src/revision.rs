//! Versions of a template that are kept as objects: `ControllerRevisions` of `StatefulSets` and `DaemonSets`.

use serde_json::{Value, json};

use super::object::{controlled_by, hash_name, integer, name, namespace, uid};
use super::step::{Action, View};
use super::template::bare;
use super::world::Id;

/// The label of pods that names the version they were made from.
pub(super) const HASH: &str = "controller-revision-hash";

/// The versions of one workload.
#[derive(Debug)]
pub(super) struct Revisions {
    /// The name of the version that is wanted.
    pub(super) wanted: String,
    /// What must be done for it to be there.
    pub(super) actions: Vec<Action>,
}

impl Revisions {
    /// The version of the template that `owner` has now.
    pub(super) fn of(owner: &Value, kind: &str, view: &View<'_>) -> Self {
        let template = bare(&owner["spec"]["template"], HASH);
        let hash = hash_name(&template);
        let known = view.world.controlled("controllerrevisions", uid(owner));
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
                        "ownerReferences": controlled_by(owner, "apps/v1", kind),
                    },
                    "data": {"spec": {"template": with_mark(&template)}},
                    "revision": highest + 1,
                }),
            )),
            // Going back makes an old version the newest.
            Some(revision) if integer(&revision["revision"]).unwrap_or(0) < highest => {
                let id = Id::of("controllerrevisions", revision);
                actions.push(Action::Patch(id, json!({"revision": highest + 1})));
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
            surplus.map(|revision| Action::Delete(Id::of("controllerrevisions", revision))),
        );
        Self {
            wanted: full,
            actions,
        }
    }

    /// Without the name of the workload.
    pub(super) fn hash(&self) -> &str {
        self.wanted.rsplit('-').next().unwrap_or_default()
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

/// A template in a version replaces, it is not merged.
fn with_mark(template: &Value) -> Value {
    let mut template = template.clone();
    template["$patch"] = "replace".into();
    template
}
