//! Values against `values.schema.json`, chart by chart, with the messages of each Helm.

mod draft7;
mod formats;
mod messages;
mod quick;

use std::fmt::Write;

use outrigger_gotmpl::value::{Map, Value};
use serde_json::Value as Json;

use crate::profile::Profile;
use crate::tree::{NodeId, Tree};

/// Every schema that the values break.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
pub struct Error(String);

/// Checks the values of the whole tree.
pub(crate) fn validate(tree: &Tree<'_>, values: &Map, profile: Profile) -> Result<(), Error> {
    let mut report = String::new();
    chart(tree, Tree::ROOT, values, profile, &mut report);
    if report.is_empty() {
        Ok(())
    } else {
        Err(Error(report))
    }
}

fn chart(tree: &Tree<'_>, id: NodeId, values: &Map, profile: Profile, report: &mut String) {
    let node = tree.node(id);
    if let Some(schema) = &node.chart.schema
        && let Err(message) = single(values, schema, profile)
    {
        let _ = write!(report, "{}:\n{message}", tree.name(id));
    }
    for &child in &node.children {
        let name = tree.name(child);
        match values.get(name.as_bytes()) {
            Some(Value::Map(section)) => chart(tree, child, &section, profile, report),
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

/// Checks one map against one schema; the error is the message.
pub(crate) fn single(values: &Map, schema: &[u8], profile: Profile) -> Result<(), String> {
    let instance = json_of(&Value::Map(values.clone()));
    let schema: Json = serde_json::from_slice(schema).map_err(|error| go_json_error(&error))?;
    if quick::accepts(&schema, &instance) {
        return Ok(());
    }
    match profile {
        Profile::Helm3 => draft7::validate(&schema, &instance),
        Profile::Helm4 => newest(schema, &instance),
    }
}

/// Helm 4: every draft up to the newest.
fn newest(schema: Json, instance: &Json) -> Result<(), String> {
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

/// References to other places are not followed, except `urn:`, which accepts everything as in Helm.
struct NoNetwork;

impl boon::UrlLoader for NoNetwork {
    fn load(&self, url: &str) -> Result<Json, Box<dyn std::error::Error>> {
        if url.starts_with("urn:") {
            return Ok(Json::Bool(true));
        }
        Err(format!("remote schema {url} is not loaded").into())
    }
}

/// Go's words for a schema that is not JSON.
fn go_json_error(error: &serde_json::Error) -> String {
    if error.is_eof() {
        "unexpected EOF".to_owned()
    } else {
        error.to_string()
    }
}

/// The JSON tree of a template value; integral floats become integers, as they are printed without a point.
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
        reason = "only taken when the integer says exactly the same"
    )]
    if x.abs() < 9_007_199_254_740_992.0 && (x as i64) as f64 == x {
        return Json::from(x as i64);
    }
    Json::from(x)
}
