//! Manifests of plugins are valid, and name each plugin once.

use std::collections::BTreeMap;

use outrigger_api::compat;
use outrigger_api::plugin::validate;
use serde_json::Value;

use super::Subject;
use crate::definition::invalid_yaml;
use crate::finding::Finding;

pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for (path, _) in subject.scanned.files_below("plugins") {
        let Some(text) = subject.scanned.bytes(path) else {
            findings.push(Finding::fatal(path, "is too large for a manifest"));
            continue;
        };
        for name in check_manifest(path, text, findings) {
            if let Some(first) = owners.insert(name.clone(), path) {
                let message = format!("plugin {name} is also in {first}");
                findings.push(Finding::fatal(path, message));
            }
        }
    }
}

/// The names of the valid plugins of a manifest, as `NAMESPACE/NAME`.
fn check_manifest(path: &str, text: &[u8], findings: &mut Vec<Finding>) -> Vec<String> {
    let mut names = Vec::new();
    let mut count = 0;
    for document in outrigger_goyaml::documents(text) {
        let document = match document {
            Ok(document) => document,
            Err(error) => {
                let message = format!("is not valid YAML: {} after ---", error.rest);
                findings.push(Finding::fatal(path, message));
                continue;
            }
        };
        match outrigger_goyaml::parse_json(&document) {
            Ok(Value::Null) => {}
            Ok(object) => {
                count += 1;
                names.extend(check_object(path, object, findings));
            }
            Err(error) => {
                count += 1;
                let finding = invalid_yaml(path, &error);
                // Lines are those of the document.
                let line = finding.line.filter(|_| count == 1);
                findings.push(Finding { line, ..finding });
            }
        }
    }
    if count == 0 {
        findings.push(Finding::fatal(path, "contains no plugin"));
    }
    names
}

fn check_object(path: &str, object: Value, findings: &mut Vec<Finding>) -> Option<String> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let plugin = match compat::read(object) {
        Ok(Some(plugin)) => plugin,
        Ok(None) => {
            let message = format!("contains a {kind:?} object, which is not a Plugin");
            findings.push(Finding::fatal(path, message));
            return None;
        }
        Err(error) => {
            let finding = Finding::fatal(path, error.to_string());
            findings.push(match error.hint() {
                Some(hint) => finding.hint(hint),
                None => finding,
            });
            return None;
        }
    };
    let Some(name) = plugin.metadata.name.clone() else {
        findings.push(Finding::fatal(path, "metadata.name is missing"));
        return None;
    };
    for error in validate(&plugin) {
        findings.push(Finding::fatal(path, error.to_string()));
    }
    let namespace = plugin.metadata.namespace.as_deref().unwrap_or("default");
    Some(format!("{namespace}/{name}"))
}
