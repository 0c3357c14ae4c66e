//! Evaluates CEL validation rules (`x-kubernetes-validations`).
//!
//! The language and its Kubernetes libraries come from `kube-cel`. This module decides which rules apply to which
//! values, binds `oldSelf`, and formats the errors.

use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};
use outrigger_apimachinery::status::field::{self, BadValue, ErrorType};
use serde_json::Value;

use super::validate::{Correlated, OldItems, type_name};
use super::{SchemaRef, Type};
pub(super) use compile::CompiledRule;
pub(super) use compile::compile;

mod compile;
mod functions;
mod optional;
mod values;

const MAX_MESSAGE_LENGTH: usize = 5120;

const NOT_A_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Evaluates all rules of a schema. With an old object, failures for unchanged values are ignored, except those of
/// transition rules.
pub fn validate_rules(
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<field::Error> {
    let current = old.map(|old| Correlated::new(new, old, schema));
    evaluate(
        new,
        old,
        schema,
        Ratchet {
            current,
            parent: None,
        },
    )
}

/// Evaluates the rules for a default, which must be valid on create and on update.
pub(super) fn validate_rules_of_default(
    default: &Value,
    schema: SchemaRef<'_>,
) -> Vec<field::Error> {
    let no_ratchet = Ratchet {
        current: None,
        parent: None,
    };
    let errors = evaluate(default, Some(default), schema, no_ratchet);
    if errors.is_empty() {
        evaluate(default, None, schema, no_ratchet)
    } else {
        errors
    }
}

fn evaluate(
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
    ratchet: Ratchet<'_>,
) -> Vec<field::Error> {
    if !has_rules(schema) {
        return Vec::new();
    }
    functions::with(|functions| {
        let mut walker = Walker {
            functions,
            errors: Vec::new(),
        };
        walker.value("", new, old, schema, ratchet);
        walker.errors
    })
}

/// Whether any node of the schema has rules.
pub(super) fn has_rules(schema: SchemaRef<'_>) -> bool {
    schema.nodes.iter().any(|node| !node.rules.is_empty())
}

/// The old value of the validated value, or of its nearest ancestor that has one.
#[derive(Clone, Copy)]
struct Ratchet<'v> {
    current: Option<Correlated<'v>>,
    parent: Option<Correlated<'v>>,
}

impl<'v> Ratchet<'v> {
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
    errors: Vec<field::Error>,
}

impl Walker<'_> {
    fn value<'v>(
        &mut self,
        path: &str,
        new: &'v Value,
        old: Option<&'v Value>,
        schema: SchemaRef<'v>,
        ratchet: Ratchet<'v>,
    ) {
        if new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(path, new, old, schema, ratchet);
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
                            ratchet.field(name),
                        );
                    }
                    if let Some(property) = schema.property(name) {
                        let path = if path.is_empty() {
                            name.clone()
                        } else {
                            format!("{path}.{name}")
                        };
                        self.value(&path, value, old, property, ratchet.field(name));
                    }
                }
            }
            Value::Array(items) => {
                let Some(item_schema) = schema.items() else {
                    return;
                };
                let old_items = old.and_then(|old| OldItems::new(schema, old));
                let ratchet_items = ratchet.current.as_ref().and_then(Correlated::items);
                for (i, item) in items.iter().enumerate() {
                    let old = old_items.as_ref().and_then(|items| items.find(item));
                    self.value(
                        &format!("{path}[{i}]"),
                        item,
                        old,
                        item_schema,
                        ratchet.item(ratchet_items.as_ref(), i),
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
        ratchet: Ratchet<'_>,
    ) {
        if schema.node().rules.is_empty() {
            return;
        }
        let functions = self.functions;
        let self_value = values::to_cel(new, schema, functions);
        let old_self = old.map(|old| values::to_cel(old, schema, functions));
        for rule in &schema.node().rules {
            if rule.uses_old_self && old_self.is_none() && !rule.optional_old_self {
                continue;
            }
            let mut scope = functions.new_inner_scope();
            scope.add_variable_from_value("self", self_value.clone());
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
                Err(error) => Some(evaluation_failure(
                    path,
                    schema,
                    format!("rule compile error: {error}"),
                )),
                Ok(None) => None,
                Ok(Some(program)) => match CelValue::resolve(program, &scope) {
                    Ok(CelValue::Bool(true)) => None,
                    Ok(_) => {
                        let error = rule_failure(path, new, schema, rule, &scope);
                        let is_ignored = !rule.uses_old_self && ratchet.is_unchanged();
                        (!is_ignored).then_some(error)
                    }
                    Err(error) => Some(evaluation_failure(
                        path,
                        schema,
                        evaluation_message(&error, rule),
                    )),
                },
            };
            self.errors.extend(error);
        }
    }
}

/// The error of a rule that cannot be evaluated. Shows the type instead of the value.
fn evaluation_failure(path: &str, schema: SchemaRef<'_>, detail: String) -> field::Error {
    field::Error::invalid(path, type_name(schema.type_), detail)
}

/// The error of a rule that evaluates to false.
fn rule_failure(
    path: &str,
    value: &Value,
    schema: SchemaRef<'_>,
    rule: &CompiledRule,
    scope: &Context<'_>,
) -> field::Error {
    let detail = message(rule, scope).unwrap_or_else(|| match rule.message.trim() {
        "" => format!("failed rule: {}", rule.rule.trim()),
        message => message.to_owned(),
    });
    let field = match (path, compile::field_path(&rule.field_path, schema)) {
        (path, None) => path.to_owned(),
        ("", Some(suffix)) => suffix.trim_start_matches('.').to_owned(),
        (path, Some(suffix)) => format!("{path}{suffix}"),
    };
    let is_large = matches!(schema.type_, Type::Object | Type::Array);
    let value = (!is_large).then(|| BadValue::from(value));
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => field::Error::forbidden(field, detail),
        Some("FieldValueRequired") => field::Error::required(field, detail),
        Some("FieldValueDuplicate") => field::Error::new(ErrorType::Duplicate, field, value, ""),
        _ => field::Error::new(ErrorType::Invalid, field, value, detail),
    }
}

/// The value of `messageExpression`, if it is a valid message.
fn message(rule: &CompiledRule, scope: &Context<'_>) -> Option<String> {
    let program = rule.message_program.as_ref().ok()?.as_ref()?;
    let Ok(CelValue::String(text)) = CelValue::resolve(program, scope) else {
        return None;
    };
    let text = text.trim();
    let is_valid = !text.is_empty() && text.len() <= MAX_MESSAGE_LENGTH && !text.contains('\n');
    is_valid.then(|| text.to_owned())
}

fn evaluation_message(error: &ExecutionError, rule: &CompiledRule) -> String {
    let name = if rule.message.is_empty() {
        rule.rule.trim()
    } else {
        rule.message.trim()
    };
    let message = match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::FunctionError { function, .. } if function == "quantity" => {
            NOT_A_QUANTITY.to_owned()
        }
        ExecutionError::FunctionError { function, message } => {
            conversion_message(function).unwrap_or_else(|| message.clone())
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
    format!("{message} evaluating rule: {name}")
}

/// The message of a failed conversion, which is the same for all types.
fn conversion_message(function: &str) -> Option<String> {
    let type_ = match function {
        "int" | "uint" | "double" | "bool" => function,
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        _ => return None,
    };
    Some(format!("type conversion error from 'string' to '{type_}'"))
}
