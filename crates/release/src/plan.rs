//! What will be done to a release, worked out from what is wanted and what is there. Pure.

mod display;
mod immutable;
mod refusal;
mod removal;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use crate::action::Action;
use crate::desired::{Desired, Object};
use crate::fields::{self, FieldChange};
use crate::id::{Key, ObjectId, ReleaseId};
use crate::observe::Observed;
use crate::options::{Crds, Options};
use crate::ownership;
use crate::past::Past;
use crate::record::{Title, hook};

pub use refusal::Refusal;

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It is not there.
    Create,
    /// It is there and differs.
    Update,
    /// It is there, as it should be.
    Unchanged,
    /// It is there and becomes part of the release.
    Adopt,
    /// It is no longer wanted, and goes.
    Prune,
    /// It is no longer wanted, but stays.
    Keep,
}

/// One object and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub object: ObjectId,
    pub change: Change,
    /// The fields that change, values of Secrets masked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
    /// Why, where it is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A hook that will run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStep {
    pub event: &'static str,
    pub kind: String,
    pub name: String,
    pub weight: i64,
}

/// What will be done. It prints as a table and serializes as data.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub release: ReleaseId,
    pub action: Action,
    pub revision: u32,
    pub chart: Title,
    /// Definitions of the folder `crds` that are made or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<Step>,
    /// Hooks in the order in which they run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookStep>,
    /// The objects in the order in which they are applied, then those that go.
    pub objects: Vec<Step>,
    #[serde(skip)]
    pub(crate) work: Work,
}

/// What the run needs and nobody else.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) desired: Desired,
    pub(crate) observed: Observed,
    /// Goes on with the record of that revision.
    pub(crate) resumes: bool,
}

/// Works out what to do. Nothing is asked and nothing is changed.
pub fn plan(mut desired: Desired, observed: Observed, options: &Options) -> Result<Plan, Refusal> {
    let mut objects = Vec::new();
    let mut foreign = Vec::new();
    for object in desired.objects() {
        match step(object, &observed, options) {
            Ok(step) => objects.push(step),
            Err(reason) => foreign.push(reason),
        }
    }
    let verb = match desired.action {
        Action::Install => "install",
        _ => "update",
    };
    if !foreign.is_empty() {
        return Err(Refusal::Foreign { verb, foreign });
    }
    let lost = nowhere(&desired, &observed);
    if !lost.is_empty() {
        return Err(Refusal::NoNamespace {
            verb,
            objects: lost,
        });
    }
    immutable::check(&desired, &observed)?;
    let wanted: HashSet<Key> = desired.objects().iter().map(|o| o.id().key()).collect();
    objects.extend(removal::steps(&observed, &wanted, desired.id()));
    let definitions = definitions(&desired, &observed, options.crds);
    let resumes = resumes(&desired, &observed.past);
    if !resumes {
        desired.revision = observed.past.next_revision();
    }
    let is_done = |steps: &[Step]| {
        let still = [Change::Unchanged, Change::Keep];
        steps.iter().all(|step| still.contains(&step.change))
    };
    let is_done = is_done(&objects) && definitions.is_empty();
    let (action, revision) = settle(&desired, &observed.past, is_done);
    let hooks = match action.hooks() {
        Some((before, after)) if options.hooks => [before, after]
            .into_iter()
            .flat_map(|event| hook_steps(&desired, event))
            .collect(),
        _ => Vec::new(),
    };
    Ok(Plan {
        release: desired.id().clone(),
        action,
        revision,
        chart: desired.title().clone(),
        definitions,
        hooks,
        objects,
        work: Work {
            desired,
            observed,
            resumes,
        },
    })
}

/// Objects for namespaces that are not there.
fn nowhere(desired: &Desired, observed: &Observed) -> Vec<ObjectId> {
    let missing = &observed.missing_namespaces;
    let is_missing = |id: &&ObjectId| {
        id.namespace
            .as_ref()
            .is_some_and(|name| missing.contains(name))
    };
    let ids = desired.objects().iter().map(Object::id);
    ids.filter(is_missing).cloned().collect()
}

/// An attempt that was not completed is gone on with if it was to be the same.
fn resumes(desired: &Desired, past: &Past) -> bool {
    past.resumable().is_some_and(|attempt| {
        attempt.revision == desired.revision && attempt.has_same_contents(&desired.record())
    })
}

/// A release that is deployed as it is wanted needs no new revision.
fn settle(desired: &Desired, past: &Past, is_done: bool) -> (Action, u32) {
    let is_upgrade = desired.action == Action::Upgrade;
    match past.deployed() {
        Some(deployed)
            if is_upgrade
                && past.attempts().is_empty()
                && deployed.has_same_contents(&desired.record()) =>
        {
            let action = if is_done {
                Action::Nothing
            } else {
                Action::Repair
            };
            (action, deployed.revision)
        }
        _ => (desired.action, desired.revision),
    }
}

/// What becomes of an object that is wanted; Helm's refusal if it is somebody else's.
fn step(object: &Object, observed: &Observed, options: &Options) -> Result<Step, String> {
    let id = object.id();
    let key = id.key();
    let simple = |change| Step {
        object: id.clone(),
        change,
        fields: Vec::new(),
        reason: None,
    };
    let Some(live) = observed.live.get(&key) else {
        return Ok(simple(Change::Create));
    };
    if is_going(live) {
        return Ok(Step {
            reason: Some("the present one is being deleted".to_owned()),
            ..simple(Change::Create)
        });
    }
    let mut change = Change::Update;
    if !observed.is_deployed(&key)
        && let Err(reason) = ownership::check(live, observed.past.id())
    {
        if !options.take_ownership {
            return Err(ownership::refusal(id, &reason));
        }
        change = Change::Adopt;
    }
    let applied = last_applied(object, &key, observed);
    let comparison = fields::compare(object.body(), live, applied.as_ref());
    let migrates = fields::needs_migration(live);
    if comparison.is_equal() && !migrates && change == Change::Update {
        return Ok(simple(Change::Unchanged));
    }
    let mut fields = comparison.changes();
    if id.kind == "Secret" {
        fields::mask(&mut fields);
    }
    let reason = migrates.then(|| "its fields were set from the client's side".to_owned());
    Ok(Step {
        fields,
        reason,
        ..simple(change)
    })
}

/// What was applied last, if all records that count agree on it: an attempt that failed may have got to apply it, or
/// not.
fn last_applied(object: &Object, key: &Key, observed: &Observed) -> Option<Value> {
    let deployed = observed.past.deployed()?;
    if deployed.apply_method != crate::record::SERVER_SIDE || deployed.is_skeleton {
        return None;
    }
    let recorded = observed.recorded.iter();
    let mut bodies = recorded.map(|objects| {
        let found = objects.iter().find(|known| known.id().key() == *key);
        found.map(Object::body)
    });
    let body = bodies.next()??;
    if !bodies.all(|other| other == Some(body)) {
        return None;
    }
    // Records do not have the marks of the release on objects.
    let mut body = body.clone();
    ownership::stamp(&mut body, observed.past.id());
    if let Some(namespace) = &object.id().namespace {
        body["metadata"]["namespace"] = Value::from(namespace.as_str());
    }
    Some(body)
}

pub(crate) fn is_going(live: &Value) -> bool {
    live["metadata"]["deletionTimestamp"].is_string()
}

/// The definitions that have to be made or changed.
fn definitions(desired: &Desired, observed: &Observed, policy: Crds) -> Vec<Step> {
    let steps = desired.definitions().iter().filter_map(|definition| {
        let live = observed.live(definition.id());
        let (change, fields) = match (policy, live) {
            (Crds::Skip, _) | (Crds::Create, Some(_)) => return None,
            (_, None) => (Change::Create, Vec::new()),
            (Crds::Replace, Some(live)) => {
                let comparison = fields::compare(definition.body(), live, None);
                if comparison.is_equal() {
                    return None;
                }
                (Change::Update, comparison.changes())
            }
        };
        Some(Step {
            object: definition.id().clone(),
            change,
            fields,
            reason: None,
        })
    });
    steps.collect()
}

fn hook_steps(desired: &Desired, event: outrigger_chart::manifest::hook::Event) -> Vec<HookStep> {
    let hooks = desired.hooks();
    let order = hook::in_order(hooks, event).into_iter();
    let steps = order.map(|at| HookStep {
        event: event.name(),
        kind: hooks[at].kind.clone(),
        name: hooks[at].name.clone(),
        weight: hooks[at].weight,
    });
    steps.collect()
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.action == Action::Nothing
    }

    /// What the release will consist of.
    pub fn desired(&self) -> &Desired {
        &self.work.desired
    }

    pub fn observed(&self) -> &Observed {
        &self.work.observed
    }

    /// How many objects have this change.
    pub fn count(&self, change: Change) -> usize {
        let steps = self.objects.iter();
        steps.filter(|step| step.change == change).count()
    }
}
