//! Node: defaults, validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::{Map, Value, json};

use crate::fields::{list, set_missing, text, texts};
use crate::table::cells::{age, name, text_or};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    push_invalid, require, validate_cidr, validate_optional_enum,
};

const SPEC: Path<'static> = Path::root("spec");

/// Keeps the deprecated `podCIDR` equal to the first of `podCIDRs`.
pub(crate) fn set_spec_defaults(spec: &mut Map<String, Value>) {
    if let Some(range) = spec.get("podCIDR").cloned() {
        set_missing(spec, [("podCIDRs", json!([range]))]);
    } else if let Some(range) = spec.get("podCIDRs").map(|ranges| ranges[0].clone()) {
        set_missing(spec, [("podCIDR", range)]);
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    // kube-apiserver reports `metadata.taints` here.
    let path = Path::root("metadata");
    let path = path.child("taints");
    for (index, taint) in list(spec, "taints").iter().enumerate() {
        let field = path.index(index);
        let key = text(taint, "key");
        push_invalid(errors, &field.child("key"), key, syntax::label_key(key));
        let value = text(taint, "value");
        push_invalid(
            errors,
            &field.child("value"),
            value,
            syntax::label_value(value),
        );
        let effect = text(taint, "effect");
        if require(errors, &field.child("effect"), effect) {
            let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            validate_optional_enum(errors, &field.child("effect"), &taint["effect"], &effects);
        }
    }
    let field = SPEC.child("podCIDRs");
    for (index, range) in texts(list(spec, "podCIDRs")).enumerate() {
        validate_cidr(errors, &field.index(index), range);
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let ready = list(status, "conditions")
        .iter()
        .rfind(|condition| condition["type"] == "Ready");
    let mut state = match ready {
        Some(condition) if condition["status"] == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if spec["unschedulable"] == true {
        state.push_str(",SchedulingDisabled");
    }
    let info = &status["nodeInfo"];
    let mut kernel = text_or(info, "kernelVersion", "<unknown>").to_owned();
    let architecture = text(info, "architecture");
    if !architecture.is_empty() {
        kernel.push_str(&format!(" ({architecture})"));
    }
    let address = |type_: &str| {
        let addresses = list(status, "addresses").iter();
        let mut addresses = addresses.filter(|address| address["type"] == type_);
        addresses
            .next()
            .map_or("<none>", |item| text(item, "address"))
    };
    vec![
        name(object),
        state.into(),
        roles_cell(object).into(),
        age(object, now),
        text(info, "kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        text_or(info, "osImage", "<unknown>").into(),
        kernel.into(),
        text_or(info, "containerRuntimeVersion", "<unknown>").into(),
    ]
}

/// Roles are derived from labels.
fn roles_cell(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<_> = labels
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None if key == "kubernetes.io/role" => value.as_str(),
                None => None,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() {
        return "<none>".to_owned();
    }
    roles.join(",")
}
