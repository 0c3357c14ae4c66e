//! Objects and Helm releases of all plugins as rendered files, one folder for each plugin.

use std::collections::BTreeMap;

use outrigger_model::{Model, Owner};
use serde_json::{Value, json};

use super::component_files::yaml;
use crate::stage::RenderedFile;

pub(super) fn files(model: &Model) -> Vec<RenderedFile> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for entry in model.sorted_manifests() {
        let owner = entry.owners.first().map_or("", Owner::as_str);
        let file = files
            .entry(format!(
                "manifests/{owner}/{}",
                file_name(&entry.value.name)
            ))
            .or_default();
        file.push_str("---\n");
        file.push_str(&yaml(&entry.value.object));
    }
    for entry in model.helm_releases.entries() {
        let owner = entry.owners.first().map_or("", Owner::as_str);
        let release = &entry.value;
        // The form of a Plugin, which the controller installs.
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1",
            "kind": "Plugin",
            "metadata": {"name": release.name, "namespace": release.namespace, "labels": {"outrigger.dev/stack-plugin": owner}},
            "spec": spec(release),
        });
        files.insert(
            format!(
                "releases/{owner}/{}-{}.yaml",
                release.namespace, release.name
            ),
            yaml(&plugin),
        );
    }
    files
        .into_iter()
        .map(|(path, content)| RenderedFile { path, content })
        .collect()
}

fn spec(release: &outrigger_model::construct::HelmRelease) -> Value {
    let mut spec = json!({"kind": "helm", "repo": release.repository, "chart": release.chart, "values": release.values});
    if !release.version.is_empty() {
        spec["version"] = json!(release.version);
    }
    let references = release.values_from.iter().map(|from| {
        let mut reference = json!({"kind": "Secret", "name": from.secret.name});
        if let Some(key) = &from.secret.key {
            reference["key"] = json!(key);
        }
        if let Some(path) = &from.target_path {
            reference["targetPath"] = json!(path);
        }
        reference
    });
    let references: Vec<Value> = references.collect();
    if !references.is_empty() {
        spec["valuesFrom"] = Value::Array(references);
    }
    spec
}

/// A name that is safe as a file name.
fn file_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    let name = name.trim_start_matches('.');
    format!("{}.yaml", name.strip_suffix(".yaml").unwrap_or(name))
}
