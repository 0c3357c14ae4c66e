//! Go templates in data plugins.
//!
//! The context is `.Values` (the plugin's values), `.Config` (the configuration; keys also with an upper-case initial, as
//! in Go structs), `.NodePool` (the name of the pool, if any) and `.Plugin`. A missing key is an error. Templates reach
//! nothing outside: no files, no clock, no randomness.

use outrigger_gotmpl::function::{Dialect, NullHost};
use outrigger_gotmpl::value::Value as GoValue;
use outrigger_gotmpl::{Engine, Limits, json, parse};
use serde_json::Value;

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

/// The configuration as templates see it, converted once for all contexts of a plugin.
#[derive(Debug, Clone)]
pub(crate) struct TemplateConfiguration(GoValue);

impl TemplateConfiguration {
    pub(crate) fn new(configuration: &Value) -> Result<Self, Failure> {
        Ok(Self(with_upper_case_keys(decode(configuration)?)))
    }
}

/// The data of templates.
#[derive(Debug, Clone)]
pub(crate) struct Context(GoValue);

impl Context {
    pub(crate) fn new(
        configuration: &TemplateConfiguration,
        values: &Value,
        pool: Option<&str>,
        plugin: &str,
    ) -> Result<Self, Failure> {
        Ok(Self(GoValue::map(vec![
            ("Config".into(), configuration.0.clone()),
            ("Values".into(), decode(values)?),
            ("NodePool".into(), GoValue::str(pool.unwrap_or_default())),
            ("Plugin".into(), GoValue::str(plugin)),
        ])))
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

fn decode(value: &Value) -> Result<GoValue, Failure> {
    json::decode(value.to_string().as_bytes()).map_err(|error| Failure(error.to_string()))
}

/// Adds `ClusterName` beside `clusterName`. Both share one value, so that the cost does not double with each level.
fn with_upper_case_keys(value: GoValue) -> GoValue {
    match value {
        GoValue::Map(map) => {
            let fields = map.entries().into_iter().flat_map(|(key, value)| {
                let value = with_upper_case_keys(value);
                let upper = upper_case_initial(&key.to_text())
                    .filter(|upper| !map.contains_key(upper.as_bytes()))
                    .map(|upper| (upper.into(), value.clone()));
                [Some((key, value)), upper].into_iter().flatten()
            });
            GoValue::map(fields.collect())
        }
        GoValue::List(list) => GoValue::list(
            list.items()
                .iter()
                .cloned()
                .map(with_upper_case_keys)
                .collect(),
        ),
        other => other,
    }
}

/// The key with an upper-case initial, unless it has one or begins with something else than a letter.
fn upper_case_initial(key: &str) -> Option<String> {
    let mut rest = key.chars();
    let first = rest.next().filter(char::is_ascii_lowercase)?;
    Some(format!("{}{}", first.to_ascii_uppercase(), rest.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(text: &str) -> Result<String, Failure> {
        let configuration = TemplateConfiguration::new(&json!({"clusterName": "demo"}))?;
        let values = json!({"image": "a:1", "on": false});
        Context::new(&configuration, &values, Some("gpu"), "p")?.render("t", text)
    }

    #[test]
    fn templates_see_values_configuration_and_pool() {
        let text = "{{ .Values.image }} {{ .Config.ClusterName }}/{{ .Config.clusterName }} {{ .NodePool }} {{ .Values.on }}";
        assert_eq!(render(text).unwrap(), "a:1 demo/demo gpu false");
    }

    #[test]
    fn a_deeply_nested_configuration_is_converted_without_doubling_at_each_level() {
        let nested = (0..60).fold(json!("leaf"), |inner, _| json!({"level": inner}));
        let configuration = TemplateConfiguration::new(&nested).unwrap();
        let path = ".level.Level".repeat(30);
        let context = Context::new(&configuration, &json!({}), None, "p").unwrap();
        let text = format!("{{{{ .Config{path} }}}}");
        assert_eq!(context.render("t", &text).unwrap(), "leaf");
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
