//! Validates that an object conforms to its schema, as creating a typed value does: declared fields, types, unique list
//! items.

use std::fmt;

use outrigger_gostd::fmt::sprint_json;
use outrigger_gostd::strconv::quote;
use serde_json::Value;

use super::atom::{self, Atom};
use super::path::PathElement;
use crate::schema::value::go_type;
use crate::schema::{SchemaRef, Type};

/// Whether lists may have several items with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    Allowed,
    Rejected,
}

/// The errors of an object, with the messages of structured-merge-diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) struct ValidationErrors(Vec<String>);

impl fmt::Display for ValidationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => f.write_str(only),
            several => {
                f.write_str("errors:")?;
                several
                    .iter()
                    .try_for_each(|error| write!(f, "\n  {error}"))
            }
        }
    }
}

pub(super) fn validate(
    schema: SchemaRef<'_>,
    value: &Value,
    duplicates: Duplicates,
) -> Result<(), ValidationErrors> {
    let mut validator = Validator {
        duplicates,
        path: String::new(),
        errors: Vec::new(),
    };
    validator.value(schema, value);
    if validator.errors.is_empty() {
        return Ok(());
    }
    Err(ValidationErrors(validator.errors))
}

struct Validator {
    duplicates: Duplicates,
    path: String,
    errors: Vec<String>,
}

impl Validator {
    fn error(&mut self, message: &str) {
        self.errors.push(if self.path.is_empty() {
            message.to_owned()
        } else {
            format!("{}: {message}", self.path)
        });
    }

    fn at(&mut self, element: &PathElement, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&element.to_string());
        visit(self);
        self.path.truncate(length);
    }

    fn value(&mut self, schema: SchemaRef<'_>, value: &Value) {
        match (atom::deduce_atom(schema, Some(value)), value) {
            (_, Value::Null) => {}
            (Atom::Scalar, _) => self.scalar(schema, value),
            (Atom::List, Value::Array(items)) => self.list(schema, items),
            (Atom::List, _) => self.error(&format!("expected list, got {}", plain(value))),
            (Atom::Map | Atom::Undetermined, Value::Object(fields)) => {
                for (name, value) in fields {
                    let element = PathElement::field(name);
                    self.at(&element, |validator| match atom::field(schema, name) {
                        Some(schema) => validator.value(schema, value),
                        None => validator.error("field not declared in schema"),
                    });
                }
            }
            (Atom::Map | Atom::Undetermined, _) => {
                self.error(&format!("expected map, got {}", plain(value)));
            }
        }
    }

    fn scalar(&mut self, schema: SchemaRef<'_>, value: &Value) {
        let is_plain_text = schema.format.is_empty() || schema.format == "byte";
        let message = match (schema.type_, value) {
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
        self.error(&message);
    }

    fn list(&mut self, schema: SchemaRef<'_>, items: &[Value]) {
        let is_atomic = atom::is_atomic_list(schema);
        let mut elements = Vec::with_capacity(items.len());
        let mut key_error = None;
        for (i, item) in items.iter().enumerate() {
            let element = if is_atomic {
                Ok(PathElement::Index(i64::try_from(i).unwrap_or(i64::MAX)))
            } else {
                atom::item_path_element(schema, item)
            };
            match element {
                Ok(element) => elements.push(element),
                Err(error) => {
                    key_error = Some(format!("element {i}: {error}"));
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
                self.error(&format!("duplicate entries for key {element}"));
            }
            self.at(element, |validator| {
                validator.value(atom::item(schema), item);
            });
        }
        if let Some(message) = key_error {
            self.error(&message);
        }
    }
}

/// The sorted indices of elements that occurred before.
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

/// A value as structured-merge-diff formats it in most messages.
fn plain(value: &Value) -> String {
    format!("&{{{}}}", sprint_json(value))
}

/// A value as structured-merge-diff formats it where a string is expected.
fn detailed(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", go_syntax(value))
}

/// A value as `%#v` formats it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Bool(_) | Value::Number(_) => sprint_json(value),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", quote(name), go_syntax(value)));
            format!(
                "map[string]interface {{}}{{{}}}",
                fields.collect::<Vec<_>>().join(", ")
            )
        }
    }
}
