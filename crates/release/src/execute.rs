//! Executes a plan: pending record, CRDs, hooks, objects, prune, health, hooks, deployed record.
//!
//! The pending record is written before the first object, so the next run can resume an interrupted one.

pub(crate) mod apply;
mod crds;
pub(crate) mod hooks;
mod records;
mod rollback_on_failure;

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::action::Action;
use crate::action_error::ActionError;
use crate::cluster::Cluster;
use crate::desired::Object;
use crate::health::{WaitError, WaitTarget, wait_for};
use crate::id::ObjectId;
use crate::managed_fields;
use crate::options::Options;
use crate::plan::Plan;
use crate::progress::Sink;
use crate::record::{ChartSummary, Record};

/// How long a pending request may exceed the deadline.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub action: Action,
    pub revision: u32,
    /// The resource version of the release record.
    #[serde(skip)]
    pub record_version: Option<String>,
    pub chart: ChartSummary,
    /// The objects of the release.
    pub inventory: Vec<InventoryEntry>,
    pub notes: Option<String>,
    /// Objects that were left out, because their kinds are not defined yet.
    pub deferred: Vec<ObjectId>,
    /// The number of objects that were written or deleted.
    pub changed: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InventoryEntry {
    #[serde(flatten)]
    pub object: ObjectId,
    /// Whether its resource policy keeps it on uninstall and prune.
    pub keep: bool,
    /// The resource version after the apply, or that of the read if it was unchanged.
    #[serde(skip)]
    pub resource_version: Option<String>,
    /// The `fieldsV1` that we own at this resource version, and when we applied them.
    #[serde(skip)]
    pub fields: Option<Value>,
    /// The fields that we own at this resource version, with their values.
    #[serde(skip)]
    pub values: Option<Value>,
}

/// What all steps of an action share.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) options: &'a Options,
    pub(crate) deadline: Instant,
    pub(crate) progress: Sink<'a>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(cluster: &'a Cluster, options: &'a Options, progress: Sink<'a>) -> Self {
        Self {
            cluster,
            options,
            deadline: Instant::now() + options.timeout,
            progress,
        }
    }

    /// Waits until all targets are healthy, until the deadline.
    async fn wait(&self, targets: Vec<WaitTarget>) -> Result<(), WaitError> {
        let rules = &self.options.health_rules;
        wait_for(self.cluster, targets, rules, self.deadline, self.progress).await
    }
}

/// Executes a plan. If the future is dropped, the next run resumes.
pub async fn execute(
    cluster: &Cluster,
    plan: Plan,
    options: &Options,
    progress: Sink<'_>,
) -> Result<Outcome, ActionError> {
    let context = Context::new(cluster, options, progress);
    if !plan.action.makes_revision() {
        let entries = run_steps(&context, &plan, None).await?;
        records::supersede_others(&context, &plan, plan.revision).await;
        let version = records::confirm(&context, &plan).await?;
        return Ok(outcome(&plan, &entries, version));
    }
    if let Some((before, after)) = plan.action.hooks().filter(|_| options.run_hooks) {
        let hooks = plan.desired.hooks();
        hooks::check_ownership(&context, &plan.release, hooks, [before, after]).await?;
    }
    let mut record = records::begin(&context, &plan).await?;
    match run_steps(&context, &plan, Some(&mut record)).await {
        Ok(entries) => {
            let version = records::succeed(&context, &plan, record).await?;
            Ok(outcome(&plan, &entries, version))
        }
        Err(error) => {
            records::fail(&context, plan.action, record, &error).await;
            Err(rollback_on_failure::roll_back(&context, &plan, error).await)
        }
    }
}

/// Runs all steps between the pending and the final record, and fails if a request does not return.
async fn run_steps(
    context: &Context<'_>,
    plan: &Plan,
    record: Option<&mut Record>,
) -> Result<Vec<InventoryEntry>, ActionError> {
    let steps = Box::pin(run_steps_unbounded(context, plan, record));
    let result = tokio::time::timeout_at(context.deadline + GRACE, steps).await;
    result.unwrap_or(Err(ActionError::TimedOut))
}

async fn run_steps_unbounded(
    context: &Context<'_>,
    plan: &Plan,
    mut record: Option<&mut Record>,
) -> Result<Vec<InventoryEntry>, ActionError> {
    if context.options.create_object_namespaces {
        for namespace in &plan.observed().missing_namespaces {
            records::create_namespace(context, namespace).await?;
        }
    }
    crds::install(context, plan).await?;
    let events = plan.action.hooks().filter(|_| context.options.run_hooks);
    if let (Some((before, _)), Some(record)) = (events, record.as_deref_mut()) {
        hooks::run(context, record, before).await?;
    }
    let applied = apply::apply_objects(context, plan).await?;
    let entries = applied.iter().map(inventory_entry).collect();
    apply::prune(context, plan).await?;
    if context.options.wait {
        let targets = applied
            .into_iter()
            .map(|(id, state)| WaitTarget::object(id, Some(state)));
        let waited = context.wait(targets.collect()).await;
        waited.map_err(ActionError::Wait)?;
    }
    if let (Some((_, after)), Some(record)) = (events, record) {
        hooks::run(context, record, after).await?;
    }
    Ok(entries)
}

fn inventory_entry((id, state): &AppliedObject) -> InventoryEntry {
    let version = &state["metadata"]["resourceVersion"];
    InventoryEntry {
        object: id.clone(),
        keep: false,
        resource_version: version.as_str().map(str::to_owned),
        fields: managed_fields::applied_fields(state),
        values: managed_fields::owned_values(state),
    }
}

fn outcome(plan: &Plan, applied: &[InventoryEntry], record_version: Option<String>) -> Outcome {
    let entry = |object: &Object| {
        let applied = applied.iter().find(|entry| entry.object == *object.id());
        InventoryEntry {
            object: object.id().clone(),
            keep: object.is_kept(),
            resource_version: applied.and_then(|entry| entry.resource_version.clone()),
            fields: applied.and_then(|entry| entry.fields.clone()),
            values: applied.and_then(|entry| entry.values.clone()),
        }
    };
    Outcome {
        action: plan.action,
        revision: plan.revision,
        record_version,
        chart: plan.chart.clone(),
        inventory: plan.desired.objects().iter().map(entry).collect(),
        notes: plan.desired.notes().map(str::to_owned),
        deferred: plan.desired.deferred().to_vec(),
        changed: plan.writes(),
    }
}

/// An object and its state after the apply.
pub(crate) type AppliedObject = (ObjectId, Value);
