//! The digest of all inputs of an installation. If it equals `status.inputDigest`, the release is up to date.
//!
//! Values from Secrets are salted with the uid of the Secret, which only its readers know. Without the salt, the digest
//! in the status would let anyone test guesses of a weak password.

use outrigger_api::plugin::{Conflicts, CrdPolicy, PluginSpec};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::values::Values;

/// Everything that determines the objects of a plugin.
#[derive(Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) spec: &'a PluginSpec,
    pub(crate) release_name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) chart_digest: Option<&'a str>,
    pub(crate) chart_version: Option<&'a str>,
    pub(crate) values: &'a Values,
    /// The uids of the Secrets that values come from.
    pub(crate) salts: &'a [String],
    pub(crate) image_registry: Option<&'a str>,
    pub(crate) kube_version: &'a str,
}

/// The digest of all inputs, as `sha256:` and hexadecimal digits.
pub(crate) fn of(inputs: &Inputs<'_>) -> String {
    let spec = inputs.spec;
    let mut hasher = Hasher(Sha256::new());
    hasher.text("outrigger 1");
    hasher.text(&format!("{:?}", spec.kind));
    hasher.text(inputs.release_name);
    hasher.text(inputs.namespace);
    hasher.optional(inputs.chart_digest);
    hasher.optional(inputs.chart_version);
    hasher.value(&Value::Object(inputs.values.0.clone()));
    hasher.number(inputs.salts.len());
    inputs.salts.iter().for_each(|salt| hasher.text(salt));
    hasher.number(spec.file_overrides.len());
    for file in &spec.file_overrides {
        hasher.text(&file.name);
        hasher.text(&file.content);
    }
    hasher.number(spec.resources.len());
    spec.resources
        .iter()
        .for_each(|object| hasher.value(object));
    hasher.optional(inputs.image_registry);
    hasher.optional(spec.service_account_name.as_deref());
    hasher.text(match spec.crds {
        CrdPolicy::Create => "create",
        CrdPolicy::Replace => "replace",
        CrdPolicy::Skip => "skip",
    });
    if spec.conflicts != Conflicts::Fail {
        hasher.text(&format!("conflicts {:?}", spec.conflicts));
    }
    hasher.text(inputs.kube_version);
    hasher.finish()
}

/// A short digest of a value, enough to detect a change.
pub(crate) fn short(value: &Value) -> String {
    const HEX_DIGITS: usize = 16;
    let mut hasher = Hasher(Sha256::new());
    hasher.value(value);
    let digest = hasher.finish();
    let start = "sha256:".len();
    digest[start..start + HEX_DIGITS].to_owned()
}

/// Hashes each part together with its length, so that adjacent parts cannot be confused.
struct Hasher(Sha256);

impl Hasher {
    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.update(text.as_bytes());
    }

    fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.number(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    /// Hashes a value independently of the order of its map keys.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                self.text("map");
                self.number(map.len());
                let mut keys: Vec<&String> = map.keys().collect();
                keys.sort_unstable();
                for key in keys {
                    self.text(key);
                    self.value(&map[key]);
                }
            }
            Value::Array(list) => {
                self.text("list");
                self.number(list.len());
                for part in list {
                    self.value(part);
                }
            }
            Value::String(text) => {
                self.text("text");
                self.text(text);
            }
            other => self.text(&other.to_string()),
        }
    }

    fn finish(self) -> String {
        let mut text = "sha256:".to_owned();
        for byte in self.0.finalize() {
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(spec: &PluginSpec, values: Value, chart: Option<&str>) -> String {
        let Value::Object(values) = values else {
            panic!("values are not a map");
        };
        of(&Inputs {
            spec,
            release_name: "web",
            namespace: "default",
            chart_digest: chart,
            chart_version: Some("1.0.0"),
            values: &Values(values),
            salts: &[],
            image_registry: None,
            kube_version: "v1.36.0",
        })
    }

    #[test]
    fn only_inputs_of_the_rendered_objects_change_the_digest() {
        let spec = PluginSpec::default();
        let first = digest(&spec, json!({"a": 1, "b": 2}), Some("x"));
        assert_eq!(first, digest(&spec, json!({"b": 2, "a": 1}), Some("x")));
        assert_ne!(first, digest(&spec, json!({"a": 1, "b": "2"}), Some("x")));
        assert_ne!(first, digest(&spec, json!({"a": 1, "b": 2}), Some("y")));
        let mut other = spec;
        other.retries = Some(3);
        other.timeout = Some("1m".to_owned());
        other.version = Some(">=1".to_owned());
        assert_eq!(first, digest(&other, json!({"a": 1, "b": 2}), Some("x")));
        other.resources = vec![json!({"kind": "ConfigMap"})];
        assert_ne!(first, digest(&other, json!({"a": 1, "b": 2}), Some("x")));
    }
}
