//! Secrets in what is kept in git or uploaded.

use outrigger_model::{Model, Owner};
use serde_json::Value;

use crate::finding::Finding;

/// Objects of kind Secret with data: rendered files are kept in git, so that secrets must be references.
pub(super) fn findings(model: &Model) -> Vec<Finding> {
    let secrets = model.manifests.entries().filter(|entry| {
        let object = &entry.value.object;
        let has_data = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_object)
                .is_some_and(|data| !data.is_empty())
        };
        object["kind"] == "Secret" && (has_data("data") || has_data("stringData"))
    });
    let findings = secrets.map(|entry| {
        let owner = entry.owners.first().map_or("", Owner::as_str);
        let message = format!("{} has a Secret with data, which would be rendered in clear; use valuesFrom or a file of type credential", entry.value.name);
        Finding::fatal(owner, message)
    });
    findings.collect()
}
