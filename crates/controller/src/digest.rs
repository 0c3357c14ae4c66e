//! What went into an installation, as one digest: as long as it stays the same there is nothing to do.
//!
//! Values of Secrets go in together with the uid of the Secret, which only those know who may read it: the digest in
//! the status does not help anybody to guess a weak password.

use outrigger_api::plugin::{CrdPolicy, PluginSpec};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::values::Values;

/// All that decides what a plugin's objects are.
#[derive(Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) spec: &'a PluginSpec,
    pub(crate) release_name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) chart_digest: Option<&'a str>,
    pub(crate) chart_version: Option<&'a str>,
    pub(crate) values: &'a Values,
    /// The uids of the Secrets among the sources of values.
    pub(crate) salts: &'a [String],
    pub(crate) image_registry: Option<&'a str>,
    pub(crate) kube_version: &'a str,
}

/// The digest of all inputs, `sha256:` and hexadecimal.
pub(crate) fn of(inputs: &Inputs<'_>) -> String {
    let spec = inputs.spec;
    let mut sum = Sum(Sha256::new());
    sum.text("outrigger 1");
    sum.text(&format!("{:?}", spec.kind));
    sum.text(inputs.release_name);
    sum.text(inputs.namespace);
    sum.maybe(inputs.chart_digest);
    sum.maybe(inputs.chart_version);
    sum.value(&Value::Object(inputs.values.0.clone()));
    sum.number(inputs.salts.len());
    inputs.salts.iter().for_each(|salt| sum.text(salt));
    sum.number(spec.file_overrides.len());
    for file in &spec.file_overrides {
        sum.text(&file.name);
        sum.text(&file.content);
    }
    sum.number(spec.resources.len());
    spec.resources.iter().for_each(|object| sum.value(object));
    sum.maybe(inputs.image_registry);
    sum.maybe(spec.service_account_name.as_deref());
    sum.text(match spec.crds {
        CrdPolicy::Create => "create",
        CrdPolicy::Replace => "replace",
        CrdPolicy::Skip => "skip",
    });
    sum.text(inputs.kube_version);
    sum.finish()
}

/// A short digest of a value, enough to see that it changed.
pub(crate) fn short(value: &Value) -> String {
    const HEXADECIMALS: usize = 16;
    let mut sum = Sum(Sha256::new());
    sum.value(value);
    let digest = sum.finish();
    let begin = "sha256:".len();
    digest[begin..begin + HEXADECIMALS].to_owned()
}

/// Each part goes in with its length, so that parts cannot run together.
struct Sum(Sha256);

impl Sum {
    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.update(text.as_bytes());
    }

    fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    fn maybe(&mut self, text: Option<&str>) {
        self.number(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    /// A value in one form only: the keys of maps are sorted.
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
            panic!("values are a map");
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
    fn what_matters_changes_it_and_what_does_not_does_not() {
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
