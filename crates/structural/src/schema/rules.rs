//! Validation rules in CEL (`x-kubernetes-validations`), evaluated as a real server evaluates them.
//!
//! The language and its Kubernetes functions come from `kube-cel`. Which rules run on which values, what `oldSelf`
//! is and what the errors say is decided here.

use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};
use serde_json::Value;

use super::field_error::{FieldError, Reason};
use super::validate::{Correlated, OldItems, type_name};
use super::{SchemaRef, Type};
pub(super) use compile::Compiled;
pub(super) use compile::compile;

mod compile;
mod functions;
mod optional;
mod values;

const NOT_A_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const MAX_MESSAGE: usize = 5120;

/// Checks all rules of a schema. With an old object, failures in parts that did not change do not count, except
/// those of rules that compare with the old value.
pub fn check_rules(new: &Value, old: Option<&Value>, schema: SchemaRef<'_>) -> Vec<FieldError> {
    let current = old.map(|old| Correlated::new(new, old, schema));
    check(
        new,
        old,
        schema,
        Same {
            current,
            parent: None,
        },
    )
}

/// Checks a value that a schema itself gives: it must be right both when it is new and when it was there before.
pub(super) fn check_rules_of_default(default: &Value, schema: SchemaRef<'_>) -> Vec<FieldError> {
    let nothing = Same {
        current: None,
        parent: None,
    };
    let errors = check(default, Some(default), schema, nothing);
    if errors.is_empty() {
        check(default, None, schema, nothing)
    } else {
        errors
    }
}

fn check(
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
    same: Same<'_>,
) -> Vec<FieldError> {
    if !has_rules(schema) {
        return Vec::new();
    }
    functions::with(|functions| {
        let mut walker = Walker {
            functions,
            errors: Vec::new(),
        };
        walker.value("", new, old, schema, same);
        walker.errors
    })
}

/// Whether a structural schema has any rules.
pub(super) fn has_rules(schema: SchemaRef<'_>) -> bool {
    schema.nodes.iter().any(|node| !node.rules.is_empty())
}

/// The old value of what is checked, or of the nearest part around it that has one.
#[derive(Clone, Copy)]
struct Same<'v> {
    current: Option<Correlated<'v>>,
    parent: Option<Correlated<'v>>,
}

impl<'v> Same<'v> {
    fn is_unchanged(&self) -> bool {
        self.current
            .or(self.parent)
            .is_some_and(|value| value.is_equal())
    }

    fn field(self, name: &str) -> Self {
        let Some(current) = self.current else {
            return self;
        };
        if self.parent.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self {
                current: None,
                parent: None,
            };
        }
        Self {
            current: current.field(name),
            parent: Some(current),
        }
    }

    fn item(self, items: Option<&OldItems<'v>>, index: usize) -> Self {
        let Some(current) = self.current else {
            return self;
        };
        Self {
            current: current.item(items, index),
            parent: Some(current),
        }
    }
}

struct Walker<'f> {
    functions: &'f Context<'static>,
    errors: Vec<FieldError>,
}

impl Walker<'_> {
    fn value<'v>(
        &mut self,
        path: &str,
        new: &'v Value,
        old: Option<&'v Value>,
        schema: SchemaRef<'v>,
        same: Same<'v>,
    ) {
        if new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(path, new, old, schema, same);
        match new {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(additional) = schema.additional() {
                        self.value(
                            &format!("{path}[{name}]"),
                            value,
                            old,
                            additional,
                            same.field(name),
                        );
                    }
                    if let Some(property) = schema.property(name) {
                        let path = if path.is_empty() {
                            name.clone()
                        } else {
                            format!("{path}.{name}")
                        };
                        self.value(&path, value, old, property, same.field(name));
                    }
                }
            }
            Value::Array(items) => {
                let Some(item_schema) = schema.items() else {
                    return;
                };
                let old_items = old.and_then(|old| OldItems::new(schema, old));
                let same_items = same.current.as_ref().and_then(Correlated::items);
                for (i, item) in items.iter().enumerate() {
                    let old = old_items.as_ref().and_then(|items| items.find(item));
                    self.value(
                        &format!("{path}[{i}]"),
                        item,
                        old,
                        item_schema,
                        same.item(same_items.as_ref(), i),
                    );
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn rules(
        &mut self,
        path: &str,
        new: &Value,
        old: Option<&Value>,
        schema: SchemaRef<'_>,
        same: Same<'_>,
    ) {
        if schema.node().rules.is_empty() {
            return;
        }
        let functions = self.functions;
        let itself = values::to_cel(new, schema, functions);
        let old_self = old.map(|old| values::to_cel(old, schema, functions));
        for rule in &schema.node().rules {
            if rule.uses_old_self && old_self.is_none() && !rule.optional_old_self {
                continue;
            }
            let mut scope = functions.new_inner_scope();
            scope.add_variable_from_value("self", itself.clone());
            if let Some(old_self) = old_self.clone().filter(|_| !rule.optional_old_self) {
                scope.add_variable_from_value("oldSelf", old_self);
            } else if rule.optional_old_self {
                let old_self = old_self
                    .clone()
                    .map_or_else(OptionalValue::none, OptionalValue::of);
                scope.add_variable_from_value(
                    "oldSelf",
                    CelValue::Opaque(std::sync::Arc::new(old_self)),
                );
            }
            let error = match &rule.program {
                Err(problem) => Some(failed(
                    path,
                    schema,
                    format!("rule compile error: {problem}"),
                )),
                Ok(None) => None,
                Ok(Some(program)) => match CelValue::resolve(program, &scope) {
                    Ok(CelValue::Bool(true)) => None,
                    Ok(_) => {
                        let error = broken(path, new, schema, rule, &scope);
                        let is_passed_over = !rule.uses_old_self && same.is_unchanged();
                        (!is_passed_over).then_some(error)
                    }
                    Err(problem) => Some(failed(path, schema, evaluation_problem(&problem, rule))),
                },
            };
            self.errors.extend(error);
        }
    }
}

/// A rule that could not be evaluated. The error shows the type instead of the value.
fn failed(path: &str, schema: SchemaRef<'_>, detail: String) -> FieldError {
    FieldError::invalid(path, type_name(schema.type_), detail)
}

/// A rule that is not true.
fn broken(
    path: &str,
    value: &Value,
    schema: SchemaRef<'_>,
    rule: &Compiled,
    scope: &Context<'_>,
) -> FieldError {
    let detail = message(rule, scope).unwrap_or_else(|| match rule.message.trim() {
        "" => format!("failed rule: {}", rule.rule.trim()),
        message => message.to_owned(),
    });
    let field = match (path, compile::field_path(&rule.field_path, schema)) {
        (path, None) => path.to_owned(),
        ("", Some(below)) => below.trim_start_matches('.').to_owned(),
        (path, Some(below)) => format!("{path}{below}"),
    };
    let is_large = matches!(schema.type_, Type::Object | Type::Array);
    let value = (!is_large).then(|| value.clone());
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::forbidden(field, detail),
        Some("FieldValueRequired") => FieldError::required(field, detail),
        Some("FieldValueDuplicate") => FieldError::new(Reason::Duplicate, field, value, ""),
        _ => FieldError::new(Reason::Invalid, field, value, detail),
    }
}

/// What `messageExpression` says, if it says something usable.
fn message(rule: &Compiled, scope: &Context<'_>) -> Option<String> {
    let program = rule.message_program.as_ref().ok()?.as_ref()?;
    let Ok(CelValue::String(text)) = CelValue::resolve(program, scope) else {
        return None;
    };
    let text = text.trim();
    let is_usable = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
    is_usable.then(|| text.to_owned())
}

fn evaluation_problem(problem: &ExecutionError, rule: &Compiled) -> String {
    let name = if rule.message.is_empty() {
        rule.rule.trim()
    } else {
        rule.message.trim()
    };
    let problem = match problem {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::FunctionError { function, .. } if function == "quantity" => {
            NOT_A_QUANTITY.to_owned()
        }
        ExecutionError::FunctionError { function, message } => {
            conversion_problem(function).unwrap_or_else(|| message.clone())
        }
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(CelValue::Int(index)) => {
            format!("index out of bounds: {index}")
        }
        ExecutionError::NoSuchOverload
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..) => {
            return format!(
                "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: {name}"
            );
        }
        other => other.to_string(),
    };
    format!("{problem} evaluating rule: {name}")
}

/// Texts that cannot be converted are told in the same words for all types.
fn conversion_problem(function: &str) -> Option<String> {
    let type_ = match function {
        "int" | "uint" | "double" | "bool" => function,
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        _ => return None,
    };
    Some(format!("type conversion error from 'string' to '{type_}'"))
}
