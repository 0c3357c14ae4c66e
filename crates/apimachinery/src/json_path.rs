//! `JSONPath` templates of Kubernetes, as kubectl, Helm and printer columns use them: `{.items[*].metadata.name}`.
//!
//! A template is text with actions in braces. An action is a list of steps, each of which maps all current values to the
//! next ones.

mod compare;
mod evaluate;
mod parse;

use std::borrow::Cow;

use outrigger_gostd::{json, strconv};
use serde_json::Value;

pub use evaluate::EvaluateError;
pub use parse::ParseError;

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// An action, or the steps of an operand.
    List(Vec<Self>),
    Text(String),
    Literal(Value),
    Field(String),
    Slice(Slice),
    Filter(Filter),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Self>>),
    /// `range`, `end`, or unknown.
    Identifier(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    start: i64,
    end: End,
    step: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The item after the start: the slice is an index.
    AfterStart,
    Length,
    Index(i64),
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Vec<Node>,
    /// `None` if the left side only has to exist.
    right: Option<(String, Vec<Node>)>,
}

/// What a field that does not exist means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingKeys {
    /// No value.
    Allow,
    /// An error.
    Reject,
}

impl JsonPath {
    pub fn parse(template: &str) -> Result<Self, ParseError> {
        parse::parse(template).map(|nodes| Self { nodes })
    }

    /// The first value of the first action; `None` if there is none or the evaluation fails.
    pub fn first<'a>(&self, object: &'a Value) -> Option<Cow<'a, Value>> {
        let results = evaluate::evaluate(&self.nodes, object, MissingKeys::Allow).ok()?;
        results.into_iter().next()?.into_iter().next()
    }

    /// The text of all results.
    pub fn execute(&self, object: &Value, missing: MissingKeys) -> Result<String, EvaluateError> {
        let results = evaluate::evaluate(&self.nodes, object, missing)?;
        let texts = results.iter().map(|results| {
            let results: Vec<String> = results.iter().map(|result| text(result)).collect();
            results.join(" ")
        });
        Ok(texts.collect())
    }
}

/// Formats a value: strings and numbers plain, others as JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => strconv::format_float(float, b'g', None),
            None => number.to_string(),
        },
        other => json::marshal(other),
    }
}

#[cfg(test)]
mod tests;
