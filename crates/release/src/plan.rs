//! Plans a release: compares the desired with the observed state. Pure.

mod display;
mod immutable;
mod prune;
mod rejection;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use outrigger_chart::manifest::hook::Event;
use serde::Serialize;
use serde_json::Value;

use crate::action::Action;
use crate::desired::{Desired, Object};
use crate::history::History;
use crate::id::{ObjectId, ObjectKey, ReleaseId};
use crate::managed_fields::{self, FieldChange};
use crate::observe::Observed;
use crate::options::{Conflicts, CrdPolicy, Options};
use crate::ownership::{self, CannotImport};
use crate::record::{ChartSummary, SERVER_SIDE, hook};

pub use rejection::Rejection;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    Create,
    Update,
    Unchanged,
    /// The object exists and becomes part of the release.
    Adopt,
    /// The object is no longer desired and is deleted.
    Prune,
    /// The object is no longer desired, but is kept.
    Keep,
}

impl Change {
    fn is_write(self) -> bool {
        !matches!(self, Self::Unchanged | Self::Keep)
    }
}

/// The change of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub object: ObjectId,
    pub change: Change,
    /// The fields that change, with masked values for Secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
    /// The reason, where it is not obvious.
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

/// The steps of an action. Displays as a table, serializes as data.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub release: ReleaseId,
    pub action: Action,
    pub revision: u32,
    pub chart: ChartSummary,
    /// CRDs of the chart's `crds` directory that are created or updated.
    #[serde(rename = "definitions", skip_serializing_if = "Vec::is_empty")]
    pub crds: Vec<Step>,
    /// Hooks in the order of their execution.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookStep>,
    /// The desired objects in the order in which they are applied, then the others in the order of deletion.
    pub objects: Vec<Step>,
    #[serde(skip)]
    pub(crate) desired: Desired,
    #[serde(skip)]
    pub(crate) observed: Observed,
    /// Whether the record of the revision exists and is resumed.
    #[serde(skip)]
    pub(crate) is_resumed: bool,
}

/// Plans a release. Sends no requests.
pub fn plan(
    mut desired: Desired,
    observed: Observed,
    options: &Options,
) -> Result<Plan, Rejection> {
    let mut objects = plan_objects(&desired, &observed, options)?;
    immutable::check(&desired, &observed)?;
    let keys: HashSet<ObjectKey> = desired.objects().iter().map(|o| o.id().key()).collect();
    objects.extend(prune::steps(&observed, &keys, desired.id()));
    let crds = plan_crds(&desired, &observed, options)?;
    let is_resumed = is_resumed(&desired, &observed.history);
    if !is_resumed {
        desired.revision = observed.history.next_revision();
    }
    let is_up_to_date = crds.is_empty() && !objects.iter().any(|step| step.change.is_write());
    let (action, revision) = select_action(&desired, &observed.history, is_up_to_date);
    let hooks = match action.hooks() {
        Some((before, after)) if options.run_hooks => [before, after]
            .into_iter()
            .flat_map(|event| plan_hooks(&desired, event))
            .collect(),
        _ => Vec::new(),
    };
    Ok(Plan {
        release: desired.id().clone(),
        action,
        revision,
        chart: desired.chart().clone(),
        crds,
        hooks,
        objects,
        desired,
        observed,
        is_resumed,
    })
}

fn plan_objects(
    desired: &Desired,
    observed: &Observed,
    options: &Options,
) -> Result<Vec<Step>, Rejection> {
    let verb = verb(desired);
    let mut steps = Vec::new();
    let mut not_importable = Vec::new();
    for object in desired.objects() {
        match plan_object(object, observed, options) {
            Ok(step) => steps.push(step),
            Err(error) => not_importable.push(error),
        }
    }
    if !not_importable.is_empty() {
        return Err(Rejection::InvalidOwnership {
            verb,
            objects: not_importable,
        });
    }
    let objects = objects_in_missing_namespaces(desired, observed);
    if !objects.is_empty() && !options.create_object_namespaces {
        return Err(Rejection::NamespaceNotFound { verb, objects });
    }
    Ok(steps)
}

fn objects_in_missing_namespaces(desired: &Desired, observed: &Observed) -> Vec<ObjectId> {
    let missing = &observed.missing_namespaces;
    let is_missing = |id: &&ObjectId| {
        id.namespace
            .as_ref()
            .is_some_and(|name| missing.contains(name))
    };
    let ids = desired.objects().iter().map(Object::id);
    ids.filter(is_missing).cloned().collect()
}

/// Whether the last revision is pending or failed, and has the desired contents.
fn is_resumed(desired: &Desired, history: &History) -> bool {
    history.resumable().is_some_and(|attempt| {
        attempt.revision == desired.revision && attempt.has_same_contents(&desired.record())
    })
}

/// A release that is deployed as desired needs no new revision.
fn select_action(desired: &Desired, history: &History, is_up_to_date: bool) -> (Action, u32) {
    match history.deployed() {
        Some(deployed)
            if desired.action == Action::Upgrade
                && history.attempts().is_empty()
                && deployed.has_same_contents(&desired.record()) =>
        {
            let action = if is_up_to_date {
                Action::Nothing
            } else {
                Action::Repair
            };
            (action, deployed.revision)
        }
        _ => (desired.action, desired.revision),
    }
}

fn plan_object(
    object: &Object,
    observed: &Observed,
    options: &Options,
) -> Result<Step, CannotImport> {
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
    if is_terminating(live) {
        return Ok(Step {
            reason: Some("the live object is being deleted".to_owned()),
            ..simple(Change::Create)
        });
    }
    let mut change = Change::Update;
    if !observed.is_deployed(&key)
        && let Err(reason) = ownership::check(live, observed.history.id())
    {
        if !options.take_ownership {
            let object = id.clone();
            return Err(CannotImport { object, reason });
        }
        change = Change::Adopt;
    }
    let conflicts = options.conflicts_of(id);
    let applied = if options.compare_values || conflicts == Conflicts::Take {
        None
    } else {
        last_applied(object, &key, observed)
    };
    let kept = (conflicts == Conflicts::Keep)
        .then(|| managed_fields::without_foreign_fields(object.body(), live));
    let body = kept.as_ref().unwrap_or_else(|| object.body());
    let comparison = managed_fields::compare(body, live, applied.as_ref());
    let needs_upgrade = managed_fields::needs_upgrade(live);
    if comparison.is_equal() && !needs_upgrade && change == Change::Update {
        return Ok(simple(Change::Unchanged));
    }
    let mut fields = comparison.changes();
    if id.kind == "Secret" {
        managed_fields::mask(&mut fields);
    }
    let reason = needs_upgrade.then(|| "its fields were applied client-side".to_owned());
    Ok(Step {
        fields,
        reason,
        ..simple(change)
    })
}

/// The last applied object, if all records of the history agree on it: a failed revision may or may not have applied its
/// version.
fn last_applied(object: &Object, key: &ObjectKey, observed: &Observed) -> Option<Value> {
    let deployed = observed.history.deployed()?;
    if deployed.apply_method != SERVER_SIDE || deployed.is_truncated {
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
    // Manifests in records lack ownership metadata and the default namespace.
    let mut body = body.clone();
    ownership::set_metadata(&mut body, observed.history.id());
    if let Some(namespace) = &object.id().namespace {
        body["metadata"]["namespace"] = Value::from(namespace.as_str());
    }
    Some(body)
}

pub(crate) fn is_terminating(live: &Value) -> bool {
    live["metadata"]["deletionTimestamp"].is_string()
}

fn plan_crds(
    desired: &Desired,
    observed: &Observed,
    options: &Options,
) -> Result<Vec<Step>, Rejection> {
    let mut steps = Vec::new();
    let mut foreign = Vec::new();
    for crd in desired.crds() {
        let live = observed.live(crd.id());
        let (change, fields) = match (options.crds, live) {
            (CrdPolicy::Skip, _) | (CrdPolicy::Create, Some(_)) => continue,
            (_, None) => (Change::Create, Vec::new()),
            (CrdPolicy::Replace, Some(live)) => {
                let comparison = compare_crd(crd, live);
                if comparison.is_equal() {
                    continue;
                }
                let owned = ownership::check_crd(live, desired.id(), &observed.replacing);
                if let (Err(reason), false) = (owned, options.take_ownership) {
                    let object = crd.id().clone();
                    foreign.push(CannotImport { object, reason });
                    continue;
                }
                (Change::Update, comparison.changes())
            }
        };
        steps.push(Step {
            object: crd.id().clone(),
            change,
            fields,
            reason: None,
        });
    }
    if foreign.is_empty() {
        return Ok(steps);
    }
    Err(Rejection::InvalidOwnership {
        verb: verb(desired),
        objects: foreign,
    })
}

/// Compares the definitions, not the releases that replace them.
fn compare_crd(crd: &Object, live: &Value) -> managed_fields::Comparison {
    let mut body = crd.body().clone();
    if let Some(owner) = ownership::crd_owner(live) {
        ownership::set_crd_owner(&mut body, owner);
    }
    managed_fields::compare(&body, live, None)
}

fn verb(desired: &Desired) -> &'static str {
    match desired.action {
        Action::Install => "install",
        _ => "update",
    }
}

fn plan_hooks(desired: &Desired, event: Event) -> Vec<HookStep> {
    let hooks = desired.hooks();
    let order = hook::execution_order(hooks, event).into_iter();
    let steps = order.map(|at| HookStep {
        event: event.name(),
        kind: hooks[at].kind.clone(),
        name: hooks[at].name.clone(),
        weight: hooks[at].weight,
    });
    steps.collect()
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.action == Action::Nothing
    }

    pub fn desired(&self) -> &Desired {
        &self.desired
    }

    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// The number of objects with this change.
    pub fn count(&self, change: Change) -> usize {
        let steps = self.objects.iter();
        steps.filter(|step| step.change == change).count()
    }

    /// The number of objects that are written or deleted.
    pub(crate) fn writes(&self) -> usize {
        let objects = self.objects.iter();
        self.crds.len() + objects.filter(|step| step.change.is_write()).count()
    }
}
