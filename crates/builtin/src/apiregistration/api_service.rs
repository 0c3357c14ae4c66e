//! `APIService`: validation, table cells, and the objects for what the server itself serves.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Value, json};

use crate::fields::{list, text};
use crate::strategy::Strategy;
use crate::table::cells::{age, name};
use crate::table::moment::Now;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let name = text(&object["metadata"], "name");
    let expected = format!("{}.{}", text(spec, "version"), text(spec, "group"));
    if name != expected {
        let field = Path::root("metadata");
        let detail = format!("must be `spec.version+\".\"+spec.group`: \"{expected}\"");
        errors.push(Error::invalid(&field.child("name"), name, detail));
    }
    for (key, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let number = spec[key].as_i64().unwrap_or_default();
        if number <= 0 || number > most {
            let detail = format!("must be positive and less than {most}");
            errors.push(Error::invalid(&SPEC.child(key), number, detail));
        }
    }
}

#[derive(Debug)]
pub(crate) struct ApiService;

impl Strategy for ApiService {
    fn required_extension(&self, object: &Value) -> Option<&'static str> {
        object["spec"]["service"]
            .is_object()
            .then_some("aggregated APIs")
    }
}

/// Says how the server manages an `APIService` that it created.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// How the server manages an `APIService`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Management {
    /// Users do.
    None,
    /// It is created when the server starts.
    OnStart,
    /// It exists as long as a definition serves the version.
    Continuous,
}

impl Management {
    pub fn of(service: &Value) -> Self {
        match text(&service["metadata"]["labels"], MANAGED) {
            "onstart" => Self::OnStart,
            "true" => Self::Continuous,
            _ => Self::None,
        }
    }
}

/// The `APIService` of a built-in version. The aggregation layer has none for its own group.
pub fn built_in(group: &str, version: &str, group_priority: u32) -> Option<Value> {
    let version_priority = match (group, version) {
        ("apiregistration.k8s.io", _) => return None,
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", "v1") => 21,
        _ => 15,
    };
    Some(local(
        group,
        version,
        (group_priority, version_priority),
        "onstart",
    ))
}

/// The `APIService` of a version that definitions serve. Its priority is low.
pub fn custom(group: &str, version: &str) -> Value {
    local(group, version, (1000, 100), "true")
}

fn local(group: &str, version: &str, priorities: (u32, u32), managed: &str) -> Value {
    let mut service = json!({
        "kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1",
        "metadata": {"name": format!("{version}.{group}"), "labels": {MANAGED: managed}},
        "spec": {
            "version": version, "groupPriorityMinimum": priorities.0, "versionPriority": priorities.1,
        },
    });
    if !group.is_empty() {
        service["spec"]["group"] = group.into();
    }
    service
}

/// The condition of every `APIService` without a Service.
pub fn local_condition(now: &str) -> Value {
    json!({
        "type": "Available", "status": "True", "lastTransitionTime": now, "reason": "Local",
        "message": "Local APIServices are always available",
    })
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let service = &object["spec"]["service"];
    let service = if service.is_object() {
        format!("{}/{}", text(service, "namespace"), text(service, "name"))
    } else {
        "Local".to_owned()
    };
    let conditions = list(&object["status"], "conditions").iter();
    let mut conditions = conditions.filter(|condition| condition["type"] == "Available");
    let available = match conditions.next() {
        None => "Unknown".to_owned(),
        Some(condition) => {
            let (state, reason) = (text(condition, "status"), text(condition, "reason"));
            if state == "True" || reason.is_empty() {
                state.to_owned()
            } else {
                format!("{state} ({reason})")
            }
        }
    };
    vec![
        name(object),
        service.into(),
        available.into(),
        age(object, now),
    ]
}
