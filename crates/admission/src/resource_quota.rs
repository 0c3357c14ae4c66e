//! `ResourceQuota`: an object must fit into the quotas of its namespace, and is charged to them.
//!
//! The server commits charges and object in one transaction, so that no two writes can use the same rest of a quota.

use outrigger_apimachinery::status::Status;
use outrigger_builtin::fields::text;
use serde_json::Value;

use super::{Attributes, ClusterState, Operation};
use crate::quota::{Evaluator, is_terminating};
use crate::resource_list::{self, ResourceList};

/// A quota with its new usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The stored quota.
    pub old: Value,
    /// The same with the object in `status.used`.
    pub new: Value,
}

pub(super) fn charge(
    attributes: &Attributes<'_>,
    object: &Value,
    cluster: &dyn ClusterState,
) -> Result<Vec<Charge>, Status> {
    let (group, plural) = attributes.resource();
    let evaluator = Evaluator::of(group, plural);
    if attributes.namespace.is_empty() || !is_measured(evaluator, attributes, object) {
        return Ok(Vec::new());
    }
    let mut charges = Vec::new();
    for quota in cluster.resource_quotas(attributes.namespace) {
        let charged = charged_quota(evaluator, attributes, object, &quota).map_err(|why| {
            let name = text(&object["metadata"], "name");
            attributes.forbidden(name, why)
        })?;
        if let Some(new) = charged {
            charges.push(Charge { old: quota, new });
        }
    }
    Ok(charges)
}

/// Whether the write may change what the object uses.
fn is_measured(evaluator: Evaluator<'_>, attributes: &Attributes<'_>, object: &Value) -> bool {
    match (attributes.operation, attributes.subresource) {
        (Operation::Create, "") => true,
        (Operation::Update { old }, "") => match evaluator {
            // Its scope changes.
            Evaluator::Pods => is_terminating(old) != is_terminating(object),
            Evaluator::Services | Evaluator::Claims => true,
            Evaluator::ResourceClaims | Evaluator::Count { .. } => false,
        },
        (Operation::Update { .. }, "status") => evaluator == Evaluator::Claims,
        _ => false,
    }
}

/// The quota with the object charged to it; `None` if the object does not concern it.
fn charged_quota(
    evaluator: Evaluator<'_>,
    attributes: &Attributes<'_>,
    object: &Value,
    quota: &Value,
) -> Result<Option<Value>, String> {
    let name = text(&quota["metadata"], "name");
    let hard = resource_list::parse(&quota["status"]["hard"]);
    let used = resource_list::parse(&quota["status"]["used"]);
    let measured: Vec<&str> = hard
        .keys()
        .map(String::as_str)
        .filter(|name| evaluator.measures(name))
        .collect();
    if measured.is_empty() || !evaluator.is_in_scope(quota, object) {
        return Ok(None);
    }
    evaluator
        .check_required(&measured, object)
        .map_err(|why| format!("failed quota: {name}: {why}"))?;
    if measured.iter().any(|name| !used.contains_key(*name)) {
        let resources = measured.join(",");
        return Err(format!(
            "status unknown for quota: {name}, resources: {resources}"
        ));
    }
    let mut requested = added_usage(evaluator, attributes, object, quota)?;
    requested.retain(|name, amount| !amount.is_zero() && hard.contains_key(name));
    if requested.is_empty() {
        return Ok(None);
    }
    let mut total = used.clone();
    resource_list::add(&mut total, &requested);
    if attributes.subresource != "status" {
        check_limits(name, &requested, &used, &hard)?;
    }
    let mut charged = quota.clone();
    charged["status"]["used"] = resource_list::to_json(&total);
    Ok(Some(charged))
}

/// What the write adds to the usage of the quota.
fn added_usage(
    evaluator: Evaluator<'_>,
    attributes: &Attributes<'_>,
    object: &Value,
    quota: &Value,
) -> Result<ResourceList, String> {
    let usage = evaluator.usage(object);
    let negative: Vec<&str> = usage
        .iter()
        .filter(|(_, amount)| amount.is_negative())
        .map(|(name, _)| name.as_str())
        .collect();
    if !negative.is_empty() {
        return Err(format!(
            "quota usage is negative for resource(s): {}",
            negative.join(",")
        ));
    }
    Ok(match attributes.operation {
        Operation::Update { old } if evaluator.is_in_scope(quota, old) => {
            resource_list::subtract(&usage, &evaluator.usage(old))
        }
        _ => usage,
    })
}

fn check_limits(
    name: &str,
    requested: &ResourceList,
    used: &ResourceList,
    hard: &ResourceList,
) -> Result<(), String> {
    let exceeds = |resource: &&String| {
        let amount = |list: &ResourceList| list.get(*resource).copied().unwrap_or_default();
        amount(used).plus(amount(requested)) > amount(hard)
    };
    let exceeded: Vec<&String> = requested.keys().filter(exceeds).collect();
    if exceeded.is_empty() {
        return Ok(());
    }
    let masked = |list: &ResourceList| {
        let mut masked = list.clone();
        masked.retain(|resource, _| exceeded.contains(&resource));
        resource_list::pretty(&masked)
    };
    Err(format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        masked(requested),
        masked(used),
        masked(hard)
    ))
}
