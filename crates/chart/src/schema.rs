//! Validates values against `values.schema.json` of each chart, with the messages of each Helm version.

mod cost;
mod draft7;
mod fast_path;
mod formats;
mod messages;
mod multiple_of;

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
        Profile::Helm4 => validate_all_drafts(&schema, &instance).map_err(SchemaError),
    }
}

/// Helm 4 supports all drafts.
fn validate_all_drafts(schema: &Json, instance: &Json) -> Result<(), String> {
    const URL: &str = "file:///values.schema.json";
    let replaced = multiple_of::replace(schema, instance);
    let mut compiler = boon::Compiler::new();
    compiler.use_loader(Box::new(NoNetwork));
    let mut schemas = boon::Schemas::new();
    compiler
        .add_resource(URL, replaced.clone().into_owned())
        .map_err(|error| messages::compile(&error))?;
    let index = compiler
        .compile(URL, &mut schemas)
        .map_err(|error| messages::compile(&error))?;
    schemas.validate(instance, index).map_err(|mut error| {
        multiple_of::restore(&mut error, schema, &replaced, instance);
        messages::validation(&error)
    })
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

    /// Checks the messages of Helm 3.17.3 and Helm 4.2.4 about the value `a`; an empty one if they accept it.
    #[track_caller]
    fn check(schema: &str, value: &Value, helm3: &str, helm4: &str) {
        let schema = format!(r#"{{"properties": {{"a": {schema}}}}}"#);
        let values = Map::default();
        values.set("a".into(), value.clone());
        for (profile, expected) in [(Profile::Helm3, helm3), (Profile::Helm4, helm4)] {
            let result = validate_one(&values, schema.as_bytes(), profile);
            let found = result.map_err(|error| error.to_string()).err();
            assert_eq!(found.unwrap_or_default(), expected, "{schema} {profile:?}");
        }
    }

    #[test]
    fn multiples_of_decimals_are_exact() {
        let multiple_of = r#"{"multipleOf": 0.1}"#;
        check(multiple_of, &Value::Float(0.3), "", "");
        check(multiple_of, &Value::Float(1.1), "", "");
        let helm3 = "- a: Must be a multiple of 0.1\n";
        let helm4 = "- at '/a': multipleOf: got 0.35, want 0.1\n";
        check(multiple_of, &Value::Float(0.35), helm3, helm4);
        let list = Value::list(vec![Value::Float(0.3), Value::Float(0.35)]);
        check(
            r#"{"items": {"multipleOf": 0.1}}"#,
            &list,
            "- a.1: Must be a multiple of 0.1\n",
            "- at '/a/1': multipleOf: got 0.35, want 0.1\n",
        );
        check(
            r#"{"multipleOf": 1e-7}"#,
            &Value::Float(1.5e-7),
            "- a: Must be a multiple of 1e-07\n",
            "- at '/a': multipleOf: got 1.5×10⁻⁰⁷, want 1×10⁻⁰⁷\n",
        );
        check(
            r#"{"multipleOf": 0.3}"#,
            &Value::Float(1e300),
            "- a: Must be a multiple of 0.3\n",
            "- at '/a': multipleOf: got 1×10³⁰⁰, want 0.3\n",
        );
    }

    #[test]
    fn multiples_of_decimals_are_exact_in_combinations() {
        let number = Value::Float(0.3);
        let any_of = r#"{"anyOf": [{"multipleOf": 0.1}, {"type": "string"}]}"#;
        check(any_of, &number, "", "");
        check(
            any_of,
            &Value::Float(0.35),
            "- a: Must validate at least one schema (anyOf)\n- a: Must be a multiple of 0.1\n",
            "- at '/a': 'anyOf' failed\n  - at '/a': multipleOf: got 0.35, want 0.1\n  - at '/a': got number, want string\n",
        );
        check(
            r#"{"oneOf": [{"multipleOf": 0.1}, {"multipleOf": 0.3}]}"#,
            &Value::Float(0.6),
            "- a: Must validate one and only one schema (oneOf)\n",
            "- at '/a': 'oneOf' failed, subschemas 0, 1 matched\n",
        );
        check(
            r#"{"not": {"multipleOf": 0.1}}"#,
            &number,
            "- a: Must not validate the schema (not)\n",
            "- at '/a': 'not' failed\n",
        );
        check(
            r#"{"multipleOf": 0.1, "not": {"minimum": 2}}"#,
            &number,
            "",
            "",
        );
        check(
            r#"{"multipleOf": 0.1, "not": {"maximum": 2}}"#,
            &number,
            "- a: Must not validate the schema (not)\n",
            "- at '/a': 'not' failed\n",
        );
        check(
            r#"{"const": {"multipleOf": 0.1}}"#,
            &Value::map(vec![("multipleOf".into(), Value::Float(0.1))]),
            "",
            "",
        );
    }

    #[test]
    fn large_numbers_have_the_exponents_of_helm() {
        for (value, helm4) in [
            (999_999.0, "999,999"),
            (1e6, "1×10⁰⁶"),
            (12_345_678.5, "1.23456785×10⁰⁷"),
            (-1_234_567.0, "-1.234567×10⁰⁶"),
            (-1500.25, "-1,500.25"),
            (1e-5, "1×10⁻⁰⁵"),
        ] {
            check(
                r#"{"minimum": 1e300}"#,
                &Value::Float(value),
                "- a: Must be greater than or equal to 1e+300\n",
                &format!("- at '/a': minimum: got {helm4}, want 1×10³⁰⁰\n"),
            );
        }
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

    /// Debug builds of the validator panic instead.
    #[test]
    fn a_pattern_that_is_too_large_is_blamed_on_the_schema() {
        let schema = r#"{"properties": {"a": {"pattern": "((a{1,1000}){1,1000}){1,1000}"}}}"#;
        assert_eq!(
            error(schema, Profile::Helm3),
            "pattern must be a valid regex"
        );
        let too_large = boon::CompileError::Bug("it exceeds the size limit".into());
        let expected = "failed to compile the schema: it exceeds the size limit";
        assert_eq!(messages::compile(&too_large), expected);
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
