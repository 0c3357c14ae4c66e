//! `APIService`: validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

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
