//! Carries out a plan: record, definitions, hooks, objects, leftovers, health, hooks, record.
//!
//! The record is written before the first object. Whoever finds it pending goes on from what is there.

pub(crate) mod apply;
mod definitions;
pub(crate) mod hooks;
mod records;
mod retreat;

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::action::Action;
use crate::cluster::Cluster;
use crate::desired::Object;
use crate::failure::Failure;
use crate::health::{Awaited, WaitError, wait_for};
use crate::id::ObjectId;
use crate::options::Options;
use crate::plan::{Change, Plan};
use crate::progress::Sink;
use crate::record::{Record, Title};

use records::Records;

/// A server that does not answer is given so much longer than the deadline.
const GRACE: Duration = Duration::from_secs(2);

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub action: Action,
    pub revision: u32,
    pub chart: Title,
    /// What the release consists of.
    pub inventory: Vec<Entry>,
    pub notes: Option<String>,
    /// How many objects were written or removed.
    pub changed: usize,
}

/// An object of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    #[serde(flatten)]
    pub object: ObjectId,
    /// Whether it stays when the release goes.
    pub keep: bool,
    /// Its version after it was applied, or as it was found if nothing had to be done.
    #[serde(skip)]
    pub resource_version: Option<String>,
    /// The names of the fields that were ours then.
    #[serde(skip)]
    pub fields: Option<Value>,
}

/// What all steps of a run share.
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

    /// Waits until all are healthy, by the rules of the run and not beyond its deadline.
    async fn until_healthy(&self, awaited: Vec<Awaited>) -> Result<(), WaitError> {
        let rules = &self.options.health;
        wait_for(self.cluster, awaited, rules, self.deadline, self.progress).await
    }
}

/// Carries out a plan. Dropping the future is like a kill: the next run takes over.
pub async fn execute(
    cluster: &Cluster,
    plan: Plan,
    options: &Options,
    progress: Sink<'_>,
) -> Result<Outcome, Failure> {
    let context = Context::new(cluster, options, progress);
    if !plan.action.is_recorded() {
        let mut none = None;
        let work = Box::pin(perform(&context, &plan, &mut none));
        let states = fenced(&context, work).await?;
        records::settle_others(&context, &plan, plan.revision).await;
        return Ok(outcome(&plan, &states));
    }
    let records = Records::begin(&context, &plan).await?;
    let mut record = Some(records.current.clone());
    let work = Box::pin(perform(&context, &plan, &mut record));
    let result = fenced(&context, work).await;
    let records = records.with(record);
    match result {
        Ok(states) => {
            records.succeed(&context, &plan).await?;
            Ok(outcome(&plan, &states))
        }
        Err(failure) => {
            records.fail(&context, plan.action, &failure).await;
            Err(retreat::retreat(&context, &plan, failure).await)
        }
    }
}

/// Ends work that outlives its deadline because the server does not answer.
async fn fenced<T>(
    context: &Context<'_>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let result = tokio::time::timeout_at(context.deadline + GRACE, work).await;
    result.unwrap_or(Err(Failure::TimedOut))
}

async fn perform(
    context: &Context<'_>,
    plan: &Plan,
    record: &mut Option<Record>,
) -> Result<Vec<Entry>, Failure> {
    definitions::install(context, plan).await?;
    let events = plan.action.hooks().filter(|_| context.options.hooks);
    if let (Some((before, _)), Some(record)) = (events, record.as_mut()) {
        hooks::run(context, &plan.release, &mut record.hooks, before).await?;
    }
    let states = apply::objects(context, plan).await?;
    let entries = states.iter().map(entry).collect();
    apply::prune(context, plan).await?;
    if context.options.wait {
        let awaited = states
            .into_iter()
            .map(|(id, state)| Awaited::object(id, Some(state)));
        let waited = context.until_healthy(awaited.collect()).await;
        waited.map_err(Failure::Unhealthy)?;
    }
    if let (Some((_, after)), Some(record)) = (events, record.as_mut()) {
        hooks::run(context, &plan.release, &mut record.hooks, after).await?;
    }
    Ok(entries)
}

/// What is told of an object that was applied.
fn entry((id, state): &State) -> Entry {
    let version = &state["metadata"]["resourceVersion"];
    Entry {
        object: id.clone(),
        keep: false,
        resource_version: version.as_str().map(str::to_owned),
        fields: crate::fields::applied(state).cloned(),
    }
}

fn outcome(plan: &Plan, applied: &[Entry]) -> Outcome {
    let entry = |object: &Object| {
        let applied = applied.iter().find(|entry| entry.object == *object.id());
        Entry {
            object: object.id().clone(),
            keep: object.is_kept(),
            resource_version: applied.and_then(|entry| entry.resource_version.clone()),
            fields: applied.and_then(|entry| entry.fields.clone()),
        }
    };
    let desired = plan.desired();
    let still = [Change::Unchanged, Change::Keep];
    let changed = plan
        .objects
        .iter()
        .filter(|step| !still.contains(&step.change));
    Outcome {
        action: plan.action,
        revision: plan.revision,
        chart: plan.chart.clone(),
        inventory: desired.objects().iter().map(entry).collect(),
        notes: desired.notes().map(str::to_owned),
        changed: changed.count() + plan.definitions.len(),
    }
}

/// An object and the state that the server left it in.
pub(crate) type State = (ObjectId, Value);
