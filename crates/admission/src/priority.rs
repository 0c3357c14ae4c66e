//! `Priority`: resolves the priority class of a Pod, and permits only one default class.

use outrigger_apimachinery::status::Status;
use outrigger_builtin::fields::text;
use serde_json::{Value, json};

use super::{Attributes, ClusterState};

/// The priority of a `PriorityClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priority {
    pub class: String,
    pub value: i64,
    pub preemption_policy: String,
}

pub(super) fn mutate(
    attributes: &Attributes<'_>,
    pod: &mut Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    let name = text(&pod["metadata"], "name").to_owned();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    let class = spec.get("priorityClassName").and_then(Value::as_str);
    let found = match class.unwrap_or_default() {
        "" => cluster.default_priority_class(),
        class => {
            let found = cluster.priority_class(class);
            if found.is_none() {
                let why = format!("no PriorityClass with name {class} was found");
                return Err(attributes.forbidden(&name, why));
            }
            found
        }
    };
    let found = found.unwrap_or_else(|| Priority {
        class: String::new(),
        value: 0,
        preemption_policy: "PreemptLowerPriority".to_owned(),
    });
    if spec
        .get("priority")
        .is_some_and(|given| *given != found.value)
    {
        let why = "the integer value of priority (";
        let given = &spec["priority"];
        let value = found.value;
        return Err(attributes.forbidden(
            &name,
            format!(
                "{why}{given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
            ),
        ));
    }
    if !found.class.is_empty() {
        spec.insert("priorityClassName".to_owned(), json!(found.class));
    }
    spec.insert("priority".to_owned(), json!(found.value));
    spec.entry("preemptionPolicy")
        .or_insert_with(|| json!(found.preemption_policy));
    Ok(())
}

/// Rejects a second default class.
pub(super) fn validate(
    attributes: &Attributes<'_>,
    class: &Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    let name = text(&class["metadata"], "name");
    match cluster.default_priority_class() {
        Some(default) if default.class != name => {
            let why = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                default.class
            );
            Err(attributes.forbidden(name, why))
        }
        _ => Ok(()),
    }
}
