//! Scheduling: why the simulated node cannot take a pod, in the words of kube-scheduler. Nothing is preempted or evicted.

use serde_json::{Map, Value, json};

use super::cache::ObjectRef;
use super::node;
use super::object::{items, text};
use super::plan::Context;
use super::requests::{Requests, quantity};

/// The message of a pod that the node cannot take.
pub(super) fn obstacle(pod: &Value, ctx: &Context<'_>) -> Option<String> {
    let node = ctx.cache.get(&ObjectRef::new("nodes", "", node::NAME))?;
    let reason = tainted(&pod["spec"], node)
        .or_else(|| unmatched(&pod["spec"], node))
        .or_else(|| insufficient(pod, node, ctx.cache.requested()))?;
    Some(format!("0/1 nodes are available: {reason}."))
}

fn tainted(spec: &Value, node: &Value) -> Option<String> {
    let tolerates = |taint: &Value| {
        let mut tolerations = items(&spec["tolerations"]).iter();
        tolerations.any(|toleration| is_tolerated(toleration, taint))
    };
    let cordon = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    if node["spec"]["unschedulable"] == true && !tolerates(&cordon) {
        return Some("1 node(s) were unschedulable".to_owned());
    }
    let taints = items(&node["spec"]["taints"]).iter();
    let mut taints = taints.filter(|taint| taint["effect"] != "PreferNoSchedule");
    let taint = taints.find(|taint| !tolerates(taint))?;
    let (key, value) = (text(&taint["key"]), text(&taint["value"]));
    Some(format!(
        "1 node(s) had untolerated taint {{{key}: {value}}}"
    ))
}

fn is_tolerated(toleration: &Value, taint: &Value) -> bool {
    let has = |key: &str| !text(&toleration[key]).is_empty();
    let is_same = |key: &str| text(&toleration[key]) == text(&taint[key]);
    let is_value_tolerated = toleration["operator"] == "Exists" || is_same("value");
    (!has("effect") || is_same("effect")) && (!has("key") || is_same("key")) && is_value_tolerated
}

fn unmatched(spec: &Value, node: &Value) -> Option<String> {
    let is_selected = selects_node(spec, node);
    (!is_selected).then(|| "1 node(s) didn't match Pod's node affinity/selector".to_owned())
}

/// Whether the node matches the node selector and the required node affinity of a pod.
pub(super) fn selects_node(spec: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let selector = spec["nodeSelector"].as_object();
    let required =
        &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = items(&required["nodeSelectorTerms"]);
    selector.is_none_or(|selector| selector.iter().all(|(key, value)| labels[key] == *value))
        && (required.is_null() || terms.iter().any(|term| matches_term(term, node)))
}

/// A term without requirements matches nothing.
fn matches_term(term: &Value, node: &Value) -> bool {
    let (expressions, fields) = (
        items(&term["matchExpressions"]),
        items(&term["matchFields"]),
    );
    let label = |key: &str| node["metadata"]["labels"][key].as_str();
    let field = |_: &str| node["metadata"]["name"].as_str();
    !(expressions.is_empty() && fields.is_empty())
        && expressions
            .iter()
            .all(|expression| matches(expression, label))
        && fields.iter().all(|expression| matches(expression, field))
}

fn matches<'n>(expression: &Value, value_of: impl Fn(&str) -> Option<&'n str>) -> bool {
    let value = value_of(text(&expression["key"]));
    let values = items(&expression["values"]);
    let is_in = value.is_some_and(|value| values.iter().any(|wanted| *wanted == value));
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let numbers = || number(value).zip(number(values.first().and_then(Value::as_str)));
    match text(&expression["operator"]) {
        "In" => is_in,
        "NotIn" => !is_in,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(own, wanted)| own > wanted),
        "Lt" => numbers().is_some_and(|(own, wanted)| own < wanted),
        _ => false,
    }
}

/// Resources of which the node has too little left. A node without status has no limits yet.
fn insufficient(pod: &Value, node: &Value, used: &Requests) -> Option<String> {
    let room: &Map<String, Value> = node["status"]["allocatable"].as_object()?;
    let wanted = Requests::of(pod);
    let total = used.plus(&wanted);
    let exceeds = |name: &str| {
        let limit = room.get(name).map(quantity);
        limit.is_some_and(|limit| total.get(name) > limit)
    };
    let mut reasons = Vec::new();
    if exceeds("pods") {
        reasons.push("1 Too many pods".to_owned());
    }
    for name in ["cpu", "memory"] {
        if !wanted.get(name).is_zero() && exceeds(name) {
            reasons.push(format!("1 Insufficient {name}"));
        }
    }
    (!reasons.is_empty()).then(|| reasons.join(", "))
}
