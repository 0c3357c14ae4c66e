//! Checks that an object fits its schema well enough to be merged: declared fields, types, unique list items.

use serde_json::Value;

use super::form::{self, Form};
use super::path::PathElement;
use crate::schema::{SchemaRef, Type, go_quote, go_value};

/// Whether two items of a list may be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    Allowed,
    Refused,
}

/// All that is wrong with an object, in the words of a real server.
pub(super) fn check(
    schema: SchemaRef<'_>,
    value: &Value,
    duplicates: Duplicates,
) -> Result<(), String> {
    let mut checker = Checker {
        duplicates,
        path: String::new(),
        problems: Vec::new(),
    };
    checker.value(schema, value);
    match checker.problems.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => {
            let lines = several.iter().map(|problem| format!("\n  {problem}"));
            Err(format!("errors:{}", lines.collect::<String>()))
        }
    }
}

struct Checker {
    duplicates: Duplicates,
    path: String,
    problems: Vec<String>,
}

impl Checker {
    fn problem(&mut self, text: &str) {
        self.problems.push(if self.path.is_empty() {
            text.to_owned()
        } else {
            format!("{}: {text}", self.path)
        });
    }

    fn at(&mut self, element: &PathElement, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&element.to_string());
        visit(self);
        self.path.truncate(length);
    }

    fn value(&mut self, schema: SchemaRef<'_>, value: &Value) {
        match (form::form(schema, Some(value)), value) {
            (_, Value::Null) => {}
            (Form::Scalar, _) => self.scalar(schema, value),
            (Form::List, Value::Array(items)) => self.list(schema, items),
            (Form::List, _) => self.problem(&format!("expected list, got {}", plain(value))),
            (Form::Map | Form::Open, Value::Object(fields)) => {
                for (name, value) in fields {
                    let element = PathElement::field(name);
                    self.at(&element, |checker| match form::field(schema, name) {
                        Some(schema) => checker.value(schema, value),
                        None => checker.problem("field not declared in schema"),
                    });
                }
            }
            (Form::Map | Form::Open, _) => {
                self.problem(&format!("expected map, got {}", plain(value)));
            }
        }
    }

    fn scalar(&mut self, schema: SchemaRef<'_>, value: &Value) {
        let is_plain_text = schema.format.is_empty() || schema.format == "byte";
        let problem = match (schema.type_, value) {
            (Type::Integer | Type::Number, Value::Number(_))
            | (Type::Boolean, Value::Bool(_))
            | (Type::String, Value::String(_)) => return,
            (Type::Integer | Type::Number, _) => {
                format!("expected numeric (int or float), got {}", go_type(value))
            }
            (Type::Boolean, _) => format!("expected boolean, got {}", plain(value)),
            (Type::String, _) if is_plain_text => {
                format!("expected string, got {}", detailed(value))
            }
            (_, Value::Array(_) | Value::Object(_)) => {
                format!("expected any scalar, got {}", plain(value))
            }
            _ => return,
        };
        self.problem(&problem);
    }

    fn list(&mut self, schema: SchemaRef<'_>, items: &[Value]) {
        let is_atomic = form::is_atomic_list(schema);
        let mut elements = Vec::with_capacity(items.len());
        let mut problem = None;
        for (i, item) in items.iter().enumerate() {
            let element = if is_atomic {
                Ok(PathElement::Index(i64::try_from(i).unwrap_or(i64::MAX)))
            } else {
                form::element(schema, item)
            };
            match element {
                Ok(element) => elements.push(element),
                Err(text) => {
                    problem = Some(format!("element {i}: {text}"));
                    break;
                }
            }
        }
        let repeated = if is_atomic || self.duplicates == Duplicates::Allowed {
            Vec::new()
        } else {
            repeated(&elements)
        };
        for (i, (element, item)) in elements.iter().zip(items).enumerate() {
            if repeated.binary_search(&i).is_ok() {
                self.problem(&format!("duplicate entries for key {element}"));
            }
            self.at(element, |checker| checker.value(form::item(schema), item));
        }
        if let Some(problem) = problem {
            self.problem(&problem);
        }
    }
}

/// The places of elements that occurred before, sorted.
fn repeated(elements: &[PathElement]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..elements.len()).collect();
    order.sort_by(|a, b| elements[*a].cmp(&elements[*b]));
    let groups = order.chunk_by(|a, b| elements[*a] == elements[*b]);
    let mut repeated: Vec<usize> = groups
        .flat_map(|group| group.iter().skip(1))
        .copied()
        .collect();
    repeated.sort_unstable();
    repeated
}

/// A value as the server's merge library prints it in most messages.
fn plain(value: &Value) -> String {
    format!("&{{{}}}", go_value(value))
}

/// A value as the server's merge library prints it where a string was expected.
fn detailed(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", go_syntax(value))
}

/// A value in Go's syntax, as `%#v` prints it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => go_quote(text),
        Value::Bool(_) | Value::Number(_) => go_value(value),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", go_quote(name), go_syntax(value)));
            format!(
                "map[string]interface {{}}{{{}}}",
                fields.collect::<Vec<_>>().join(", ")
            )
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
