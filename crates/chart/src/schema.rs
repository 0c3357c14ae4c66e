//! Validates values against `values.schema.json` of each chart, with the messages of each Helm version.

mod cost;
mod draft7;
mod fast_path;
mod formats;
mod messages;

use std::fmt::Write;

use outrigger_gotmpl::value::{Map, Value};
use serde_json::Value as Json;

use crate::chart_tree::{ChartTree, NodeId};
use crate::profile::Profile;

/// The errors of all charts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
pub struct Error(String);

/// The errors of one schema, or why it is invalid, with Helm's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SchemaError(String);

/// Validates the values of all charts of the tree.
pub(crate) fn validate(tree: &ChartTree<'_>, values: &Map, profile: Profile) -> Result<(), Error> {
    let mut report = String::new();
    validate_chart(tree, ChartTree::ROOT, values, profile, &mut report);
    if report.is_empty() {
        Ok(())
    } else {
        Err(Error(report))
    }
}

fn validate_chart(
    tree: &ChartTree<'_>,
    id: NodeId,
    values: &Map,
    profile: Profile,
    report: &mut String,
) {
    let node = tree.node(id);
    if let Some(schema) = &node.chart.schema
        && let Err(error) = validate_one(values, schema, profile)
    {
        let _ = write!(report, "{}:\n{error}", tree.name(id));
    }
    for &child in &node.children {
        let name = tree.name(child);
        match values.get(name.as_bytes()) {
            Some(Value::Map(section)) => validate_chart(tree, child, &section, profile, report),
            None | Some(Value::Nil) => {}
            Some(other) => {
                let _ = writeln!(
                    report,
                    "{name}:\ninvalid type for values: expected object (map), got {}",
                    other.type_name()
                );
            }
        }
    }
}

/// Validates values against one schema.
pub(crate) fn validate_one(
    values: &Map,
    schema: &[u8],
    profile: Profile,
) -> Result<(), SchemaError> {
    let instance = json_of(&Value::Map(values.clone()));
    let schema: Json = serde_json::from_slice(schema).map_err(|error| go_json_error(&error))?;
    if fast_path::accepts(&schema, &instance) {
        return Ok(());
    }
    cost::check(&schema, &instance)?;
    match profile {
        Profile::Helm3 => draft7::validate(&schema, &instance),
        Profile::Helm4 => validate_all_drafts(schema, &instance).map_err(SchemaError),
    }
}

/// Helm 4 supports all drafts.
fn validate_all_drafts(schema: Json, instance: &Json) -> Result<(), String> {
    const URL: &str = "file:///values.schema.json";
    let mut compiler = boon::Compiler::new();
    compiler.use_loader(Box::new(NoNetwork));
    let mut schemas = boon::Schemas::new();
    compiler
        .add_resource(URL, schema)
        .map_err(|error| messages::compile(&error))?;
    let index = compiler
        .compile(URL, &mut schemas)
        .map_err(|error| messages::compile(&error))?;
    schemas
        .validate(instance, index)
        .map_err(|error| messages::validation(&error))
}

/// Remote references are not loaded. As in Helm, `urn:` references accept all values.
struct NoNetwork;

impl boon::UrlLoader for NoNetwork {
    fn load(&self, url: &str) -> Result<Json, Box<dyn std::error::Error>> {
        if url.starts_with("urn:") {
            return Ok(Json::Bool(true));
        }
        Err(format!("remote schema {url} is not loaded").into())
    }
}

/// Go's message for a schema that is not JSON.
fn go_json_error(error: &serde_json::Error) -> SchemaError {
    SchemaError(if error.is_eof() {
        "unexpected EOF".to_owned()
    } else {
        error.to_string()
    })
}

/// Converts a template value to JSON. Integral floats become integers, as Go encodes them without a decimal point.
pub(crate) fn json_of(value: &Value) -> Json {
    match value {
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(n) | Value::Int64(n) => Json::from(*n),
        Value::Uint8(n) => Json::from(*n),
        Value::Float(x) => from_float(*x),
        Value::Str(text) => Json::String(text.to_text().into_owned()),
        Value::List(list) => Json::Array(list.items().iter().map(json_of).collect()),
        Value::Map(map) => map.with_entries(|entries| {
            Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.to_text().into_owned(), json_of(value)))
                    .collect(),
            )
        }),
        Value::Object(object) => json_of(&object.to_plain()),
        _ => Json::Null,
    }
}

fn from_float(x: f64) -> Json {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::float_cmp,
        clippy::cast_precision_loss,
        reason = "the integer is exactly the same number"
    )]
    if x.abs() < 9_007_199_254_740_992.0 && (x as i64) as f64 == x {
        return Json::from(x as i64);
    }
    Json::from(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(schema: &str, profile: Profile) -> String {
        let values = Map::default();
        values.set("a".into(), Value::Int(1));
        let result = validate_one(&values, schema.as_bytes(), profile);
        result.unwrap_err().to_string()
    }

    #[test]
    fn references_to_other_documents_are_rejected_by_both_profiles() {
        for (reference, helm3) in [
            (
                "https://example.com/x.json",
                "Get \"https://example.com/x.json\": other documents are not loaded",
            ),
            ("other.json", "Reference /other.json must be canonical"),
            (
                "file:///nope/x.json#/a",
                "open /nope/x.json: other documents are not loaded",
            ),
            (
                "ftp://x/y",
                "Get \"ftp://x/y\": unsupported protocol scheme \"ftp\"",
            ),
            ("#/definitions/none", "Object has no key 'definitions'"),
        ] {
            let schema = format!(r#"{{"properties": {{"b": {{"$ref": "{reference}"}}}}}}"#);
            assert_eq!(error(&schema, Profile::Helm3), helm3);
            assert!(error(&schema, Profile::Helm4).contains(reference.trim_end_matches("#/a")));
        }
    }

    #[test]
    fn a_schema_that_takes_forever_is_rejected() {
        let mut definitions = String::from(r#""d60": {"type": "string"}"#);
        for level in 0..60 {
            let next = format!("{{\"$ref\": \"#/definitions/d{}\"}}", level + 1);
            definitions.push_str(&format!(r#", "d{level}": {{"anyOf": [{next}, {next}]}}"#));
        }
        let schema =
            format!(r##"{{"definitions": {{{definitions}}}, "$ref": "#/definitions/d0"}}"##);
        for profile in [Profile::Helm3, Profile::Helm4] {
            assert_eq!(
                error(&schema, profile),
                "schema is too complex for these values"
            );
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_rejected() {
        let helm3 = error(r##"{"$ref": "#"}"##, Profile::Helm3);
        assert_eq!(helm3, "- (root): References are nested too deeply\n");
        let helm4 = error(r##"{"$ref": "#"}"##, Profile::Helm4);
        assert!(helm4.contains("causing reference cycle"), "{helm4}");
    }
}
