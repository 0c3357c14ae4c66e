//! Go templates in data plugins.
//!
//! The context is `.Values` (the plugin's values), `.Config` (the configuration; keys also with an upper-case initial, as
//! in Go structs), `.NodePool` (the name of the pool, if any) and `.Plugin`. A missing key is an error. Templates reach
//! nothing outside: no files, no clock, no randomness.

use outrigger_gotmpl::function::{Dialect, NullHost};
use outrigger_gotmpl::value::Value as GoValue;
use outrigger_gotmpl::{Engine, Limits, json, parse};
use serde_json::{Map, Value};

use crate::plugin::Failure;

/// Limits on one template, so that one that never ends fails after about a second.
const LIMITS: Limits = Limits {
    include_depth: 100,
    template_depth: 1000,
    stack_bytes: 1 << 20,
    output_bytes: 16 << 20,
    value_bytes: 16 << 20,
    memory_bytes: 256 << 20,
    steps: 5_000_000,
};

/// The data of templates.
#[derive(Debug, Clone)]
pub(crate) struct Context(GoValue);

impl Context {
    pub(crate) fn new(
        configuration: &Value,
        values: &Map<String, Value>,
        pool: Option<&str>,
        plugin: &str,
    ) -> Result<Self, Failure> {
        let data = serde_json::json!({
            "Config": with_upper_case_keys(configuration),
            "Values": values,
            "NodePool": pool.unwrap_or_default(),
            "Plugin": plugin,
        });
        let decoded = json::decode(data.to_string().as_bytes());
        decoded
            .map(Self)
            .map_err(|error| Failure(error.to_string()))
    }

    /// Renders a text, which is returned as it is if it has no actions.
    pub(crate) fn render(&self, name: &str, text: &str) -> Result<String, Failure> {
        if !text.contains("{{") {
            return Ok(text.to_owned());
        }
        let parsed =
            parse(name, text, &Dialect::HELM_4).map_err(|error| Failure(error.to_string()))?;
        let mut engine = Engine::new(Dialect::HELM_4, LIMITS).strict(true);
        engine.add(parsed);
        let mut output = Vec::new();
        engine
            .execute(name, &self.0, &NullHost, &mut output)
            .map_err(|error| Failure(error.to_string()))?;
        String::from_utf8(output)
            .map_err(|_| Failure(format!("template {name} prints invalid UTF-8")))
    }

    /// Renders all texts of a value.
    pub(crate) fn render_value(&self, name: &str, value: &Value) -> Result<Value, Failure> {
        Ok(match value {
            Value::String(text) => Value::String(self.render(name, text)?),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.render_value(name, item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.render_value(name, value)?)));
                Value::Object(fields.collect::<Result<_, Failure>>()?)
            }
            other => other.clone(),
        })
    }
}

/// Adds `ClusterName` beside `clusterName`.
fn with_upper_case_keys(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut all = Map::new();
            for (key, value) in fields {
                let value = with_upper_case_keys(value);
                let mut initial = key.chars();
                if let Some(first) = initial.next().filter(char::is_ascii_lowercase) {
                    all.entry(format!(
                        "{}{}",
                        first.to_ascii_uppercase(),
                        initial.as_str()
                    ))
                    .or_insert_with(|| value.clone());
                }
                all.insert(key.clone(), value);
            }
            Value::Object(all)
        }
        Value::Array(items) => Value::Array(items.iter().map(with_upper_case_keys).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(text: &str) -> Result<String, Failure> {
        let values = Map::from_iter([
            ("image".to_owned(), json!("a:1")),
            ("on".to_owned(), json!(false)),
        ]);
        Context::new(&json!({"clusterName": "demo"}), &values, Some("gpu"), "p")?.render("t", text)
    }

    #[test]
    fn templates_see_values_configuration_and_pool() {
        let text = "{{ .Values.image }} {{ .Config.ClusterName }}/{{ .Config.clusterName }} {{ .NodePool }} {{ .Values.on }}";
        assert_eq!(render(text).unwrap(), "a:1 demo/demo gpu false");
    }

    #[test]
    fn missing_keys_and_endless_templates_are_errors() {
        assert!(
            render("{{ .Values.gone }}")
                .unwrap_err()
                .0
                .contains("map has no entry for key \"gone\"")
        );
        assert!(
            render("{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}").is_err()
        );
        assert!(
            render("{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}").is_err()
        );
        assert!(render("{{ .Values.image").is_err());
    }
}
