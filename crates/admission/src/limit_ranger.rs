//! `LimitRanger`: a `LimitRange` sets the default resources of containers, and bounds those of Pods, containers and claims.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::fields::{items_mut, list, map, object_mut, str_field, text};
use serde_json::{Map, Value};

use super::{Attributes, ClusterState, Operation};
use crate::resource_list::{self, ResourceList};
use crate::total_resources::{self, Overhead};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// Amounts up to here are compared by their thousandths.
const MAX_PRECISE: i128 = (i64::MAX / 1000) as i128;

/// Sets the default requests and limits of the containers of a Pod.
pub(super) fn mutate(attributes: &Attributes<'_>, pod: &mut Value, cluster: &dyn ClusterState) {
    for limit_range in cluster.limit_ranges(attributes.namespace) {
        let mut changes = Vec::new();
        for limit in list(&limit_range["spec"], "limits") {
            if text(limit, "type") == "Container" {
                set_defaults(pod, limit, &mut changes);
            }
        }
        let metadata = pod
            .as_object_mut()
            .and_then(|pod| object_mut(pod, "metadata"))
            .and_then(|metadata| object_mut(metadata, "annotations"));
        if let Some(annotations) = metadata
            && !changes.is_empty()
        {
            let text = format!("LimitRanger plugin set: {}", changes.join("; "));
            annotations.insert(ANNOTATION.to_owned(), text.into());
        }
    }
}

fn set_defaults(pod: &mut Value, limit: &Value, changes: &mut Vec<String>) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for (key, what) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        for container in items_mut(spec, key) {
            let name = str_field(container, "name").to_owned();
            for (part, from, noun) in [
                ("requests", "defaultRequest", "request"),
                ("limits", "default", "limit"),
            ] {
                let set = set_missing_amounts(container, part, &limit[from]);
                if !set.is_empty() {
                    changes.push(format!("{} {noun} for {what} {name}", set.join(", ")));
                }
            }
        }
    }
}

/// Returns the names of the resources that were set, in order.
fn set_missing_amounts(
    container: &mut Map<String, Value>,
    part: &str,
    defaults: &Value,
) -> Vec<String> {
    let mut set = Vec::new();
    let defaults = defaults.as_object().filter(|defaults| !defaults.is_empty());
    let resources = defaults.and_then(|_| object_mut(container, "resources"));
    let amounts = resources.and_then(|resources| object_mut(resources, part));
    if let (Some(defaults), Some(amounts)) = (defaults, amounts) {
        for (name, amount) in defaults {
            if !amounts.contains_key(name) {
                amounts.insert(name.clone(), amount.clone());
                set.push(name.clone());
            }
        }
    }
    set.sort();
    set
}

/// Rejects a Pod or a claim outside of the bounds. A claim that is being deleted may still be updated.
pub(super) fn validate(
    attributes: &Attributes<'_>,
    object: &Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    if let Operation::Update { old } = attributes.operation
        && old["metadata"]["deletionTimestamp"].is_string()
    {
        return Ok(());
    }
    for limit_range in cluster.limit_ranges(attributes.namespace) {
        let limits = list(&limit_range["spec"], "limits").iter();
        let violations: Vec<String> = limits
            .flat_map(|limit| match attributes.kind.kind.as_str() {
                "Pod" => pod_violations(limit, &object["spec"]),
                _ => claim_violations(limit, &object["spec"]),
            })
            .collect();
        let why = match violations.as_slice() {
            [] => continue,
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        return Err(attributes.forbidden(text(&object["metadata"], "name"), why));
    }
    Ok(())
}

fn pod_violations(limit: &Value, spec: &Value) -> Vec<String> {
    match text(limit, "type") {
        "Container" => {
            let containers = list(spec, "containers").iter();
            containers
                .chain(list(spec, "initContainers"))
                .flat_map(|container| {
                    let amounts = |part: &str| resource_list::parse(&container["resources"][part]);
                    violations(limit, &amounts("requests"), &amounts("limits"))
                })
                .collect()
        }
        "Pod" => {
            let requests = total_resources::requests(spec, Overhead::Ignored);
            let limits = total_resources::limits(spec, Overhead::Ignored);
            violations(limit, &requests, &limits)
        }
        _ => Vec::new(),
    }
}

/// Only the request of a claim counts.
fn claim_violations(limit: &Value, spec: &Value) -> Vec<String> {
    if text(limit, "type") != "PersistentVolumeClaim" {
        return Vec::new();
    }
    let requests = resource_list::parse(&spec["resources"]["requests"]);
    let none = ResourceList::new();
    let min = bounds(limit, "min").filter_map(|bound| bound.min_violation(&requests, &none));
    let max = bounds(limit, "max").filter_map(|bound| {
        let request = requests.get(bound.resource);
        bound.max_violation("request", request, None)
    });
    min.chain(max).collect()
}

fn violations(limit: &Value, requests: &ResourceList, limits: &ResourceList) -> Vec<String> {
    let min = bounds(limit, "min").filter_map(|bound| bound.min_violation(requests, limits));
    let max = bounds(limit, "max").filter_map(|bound| {
        let request = requests.get(bound.resource);
        bound.max_violation("limit", limits.get(bound.resource), request)
    });
    let ratio = bounds(limit, "maxLimitRequestRatio")
        .filter_map(|bound| bound.ratio_violation(requests, limits));
    min.chain(max).chain(ratio).collect()
}

/// A bound of one resource.
struct Bound<'a> {
    /// `Container`, `Pod` or `PersistentVolumeClaim`.
    type_: &'a str,
    resource: &'a str,
    amount: Quantity,
}

fn bounds<'a>(limit: &'a Value, part: &str) -> impl Iterator<Item = Bound<'a>> {
    map(limit, part).filter_map(|(resource, amount)| {
        Some(Bound {
            type_: text(limit, "type"),
            resource,
            amount: Quantity::parse(amount.as_str()?).ok()?,
        })
    })
}

impl Bound<'_> {
    fn min_violation(&self, requests: &ResourceList, limits: &ResourceList) -> Option<String> {
        let (type_, resource) = (self.type_, self.resource);
        let bound = format!(
            "minimum {resource} usage per {type_} is {}",
            self.amount.canonical()
        );
        let Some(request) = requests.get(resource) else {
            return Some(format!("{bound}.  No request is specified"));
        };
        let amounts = [("request", Some(request)), ("limit", limits.get(resource))];
        amounts.iter().find_map(|(noun, amount)| {
            let amount = amount.filter(|amount| is_less(amount, &self.amount))?;
            Some(format!("{bound}, but {noun} is {}", amount.canonical()))
        })
    }

    /// `noun` names the amount that must be specified.
    fn max_violation(
        &self,
        noun: &str,
        amount: Option<&Quantity>,
        request: Option<&Quantity>,
    ) -> Option<String> {
        let (type_, resource) = (self.type_, self.resource);
        let bound = format!(
            "maximum {resource} usage per {type_} is {}",
            self.amount.canonical()
        );
        let Some(amount) = amount else {
            return Some(format!("{bound}.  No {noun} is specified"));
        };
        let amounts = [(noun, Some(amount)), ("request", request)];
        amounts.iter().find_map(|(noun, amount)| {
            let amount = amount.filter(|amount| is_less(&self.amount, amount))?;
            Some(format!("{bound}, but {noun} is {}", amount.canonical()))
        })
    }

    fn ratio_violation(&self, requests: &ResourceList, limits: &ResourceList) -> Option<String> {
        let (type_, resource) = (self.type_, self.resource);
        let bound = format!(
            "{resource} max limit to request ratio per {type_} is {}",
            self.amount.canonical()
        );
        let amount = |list: &ResourceList| list.get(resource).copied().filter(|it| !it.is_zero());
        let Some(request) = amount(requests) else {
            return Some(format!(
                "{bound}, but no request is specified or request is 0"
            ));
        };
        let Some(limit) = amount(limits) else {
            return Some(format!("{bound}, but no limit is specified or limit is 0"));
        };
        let ratio = limit.to_f64() / request.to_f64();
        (ratio > self.amount.to_f64()).then(|| format!("{bound}, but provided ratio is {ratio:.6}"))
    }
}

/// Compares rounded amounts, as the real plugin does.
fn is_less(one: &Quantity, other: &Quantity) -> bool {
    let is_precise = [one, other]
        .iter()
        .all(|amount| amount.rounded_up() <= MAX_PRECISE);
    if is_precise {
        one.to_millis() < other.to_millis()
    } else {
        one.rounded_up() < other.rounded_up()
    }
}
