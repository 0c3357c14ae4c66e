//! The digest in `Chart.lock`, which detects changed dependencies.

use std::fmt::Write;

use outrigger_gostd::json;
use sha2::{Digest as _, Sha256};

use crate::metadata::Dependency;
use crate::yaml_value::YamlValue;

/// The digest of the JSON of the declared and the locked dependencies.
pub fn digest(declared: &[Dependency], locked: &[Dependency]) -> String {
    let mut json = String::from("[");
    push_list(&mut json, declared);
    json.push(',');
    push_list(&mut json, locked);
    json.push(']');
    sha256(&json)
}

/// The digest of Helm 2 in `requirements.lock`.
pub fn digest_v2(declared: &[Dependency]) -> String {
    let mut json = String::from("{\"dependencies\":");
    push_list(&mut json, declared);
    json.push('}');
    sha256(&json)
}

fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn push_list(json: &mut String, dependencies: &[Dependency]) {
    json.push('[');
    for (index, dependency) in dependencies.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        push(json, dependency);
    }
    json.push(']');
}

/// Fields in the order of Go's struct. Empty fields are omitted, except name and repository.
fn push(json: &mut String, dependency: &Dependency) {
    let mut field = |name: &str, value: String| {
        json.push(if json.ends_with(['[', ',']) { '{' } else { ',' });
        let _ = write!(json, "\"{name}\":{value}");
    };
    let text = |text: &str| json::marshal_string(text);
    field("name", text(&dependency.name));
    if !dependency.version.is_empty() {
        field("version", text(&dependency.version));
    }
    field("repository", text(&dependency.repository));
    if !dependency.condition.is_empty() {
        field("condition", text(&dependency.condition));
    }
    if !dependency.tags.is_empty() {
        let tags: Vec<String> = dependency.tags.iter().map(|tag| text(tag)).collect();
        field("tags", format!("[{}]", tags.join(",")));
    }
    if dependency.enabled {
        field("enabled", "true".to_owned());
    }
    if !dependency.import_values.is_empty() {
        let values: Vec<String> = dependency
            .import_values
            .iter()
            .map(YamlValue::to_json)
            .collect();
        field("import-values", format!("[{}]", values.join(",")));
    }
    if !dependency.alias.is_empty() {
        field("alias", text(&dependency.alias));
    }
    json.push('}');
}
