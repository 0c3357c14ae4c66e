//! Evaluates CEL validation rules (`x-kubernetes-validations`).
//!
//! The language is that of `outrigger-cel`. This module decides which rules apply to which values, binds `oldSelf`, keeps
//! the evaluation of an object within its cost budget, and formats the errors.

use outrigger_apimachinery::status::field::{self, BadValue, ErrorType};
use outrigger_cel::{Activation, Error as CelError, Limits, Value as CelValue};
use serde_json::Value;

use super::validate::{Correlated, OldItems, type_name};
use super::{SchemaRef, Type};
pub(super) use compile::compile;
pub(super) use compile::{CompiledRule, NodeRules};

mod compile;
mod data_schema;
#[cfg(test)]
mod tests;

const MAX_MESSAGE_LENGTH: usize = 5120;
/// What all rules of an object may cost together.
const COST_BUDGET: u64 = 10_000_000;

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
    let mut walker = Walker {
        errors: Vec::new(),
        budget: COST_BUDGET,
    };
    // The walk ends early if the budget is exhausted, which is an error already.
    let _ = walker.value("", new, old, schema, ratchet);
    walker.errors
}

/// Whether any node of the schema has rules.
pub(super) fn has_rules(schema: SchemaRef<'_>) -> bool {
    schema.nodes.iter().any(|node| !node.validations.is_empty())
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

struct Walker {
    errors: Vec<field::Error>,
    /// The cost that is left.
    budget: u64,
}

/// No further rules are evaluated.
struct Exhausted;

/// A value that rules are evaluated for.
struct Subject<'v> {
    path: &'v str,
    value: &'v Value,
    schema: SchemaRef<'v>,
    is_unchanged: bool,
}

impl Walker {
    fn value<'v>(
        &mut self,
        path: &str,
        new: &'v Value,
        old: Option<&'v Value>,
        schema: SchemaRef<'v>,
        ratchet: Ratchet<'v>,
    ) -> Result<(), Exhausted> {
        if new.is_null() {
            return Ok(());
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(path, new, old, schema, ratchet)?;
        match new {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    let ratchet = ratchet.field(name);
                    if let Some(additional) = schema.additional() {
                        let path = format!("{path}[{name}]");
                        self.value(&path, value, old, additional, ratchet)?;
                    }
                    if let Some(property) = schema.property(name) {
                        let path = if path.is_empty() {
                            name.clone()
                        } else {
                            format!("{path}.{name}")
                        };
                        self.value(&path, value, old, property, ratchet)?;
                    }
                }
            }
            Value::Array(items) => {
                let Some(item_schema) = schema.items() else {
                    return Ok(());
                };
                let old_items = old.and_then(|old| OldItems::new(schema, old));
                let ratchet_items = ratchet.current.as_ref().and_then(Correlated::items);
                for (i, item) in items.iter().enumerate() {
                    let old = old_items.as_ref().and_then(|items| items.find(item));
                    let path = format!("{path}[{i}]");
                    let ratchet = ratchet.item(ratchet_items.as_ref(), i);
                    self.value(&path, item, old, item_schema, ratchet)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(())
    }

    fn rules(
        &mut self,
        path: &str,
        new: &Value,
        old: Option<&Value>,
        schema: SchemaRef<'_>,
        ratchet: Ratchet<'_>,
    ) -> Result<(), Exhausted> {
        let NodeRules { rules, data, .. } = &schema.node().rules;
        if rules.is_empty() {
            return Ok(());
        }
        let subject = Subject {
            path,
            value: new,
            schema,
            is_unchanged: ratchet.is_unchanged(),
        };
        if self.budget == 0 {
            return Err(self.out_of_budget(&subject));
        }
        let self_value = CelValue::from_json_with_schema(new, data);
        let old_self = old.and_then(|old| CelValue::from_json_with_schema(old, data).ok());
        for rule in rules {
            if rule.uses_old_self && old_self.is_none() && !rule.optional_old_self {
                continue;
            }
            let program = match &rule.program {
                Ok(Some(program)) => program,
                Ok(None) => continue,
                Err(error) => {
                    let detail = format!("rule compile error: {error}");
                    self.errors.push(evaluation_failure(&subject, detail));
                    continue;
                }
            };
            let activation = match &self_value {
                Ok(value) => Activation::new().variable("self", value.clone()),
                Err(error) => {
                    let detail = evaluation_message(error, rule);
                    self.errors.push(evaluation_failure(&subject, detail));
                    continue;
                }
            };
            let activation = match &old_self {
                _ if rule.optional_old_self => {
                    activation.variable("oldSelf", CelValue::optional(old_self.clone()))
                }
                Some(old_self) => activation.variable("oldSelf", old_self.clone()),
                None => activation,
            };
            let evaluation = program.evaluate(&activation, Limits::PER_CALL);
            let Some(budget) = self.budget.checked_sub(evaluation.cost) else {
                return Err(self.out_of_budget(&subject));
            };
            self.budget = budget;
            match evaluation.result {
                Ok(CelValue::Bool(true)) => {}
                Ok(_) => self.rule_failure(&subject, rule, &activation)?,
                Err(error) => {
                    let detail = evaluation_message(&error, rule);
                    self.errors.push(evaluation_failure(&subject, detail));
                    if error.is_cancellation() {
                        return Err(Exhausted);
                    }
                }
            }
        }
        Ok(())
    }

    fn out_of_budget(&mut self, subject: &Subject<'_>) -> Exhausted {
        let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
        self.errors
            .push(evaluation_failure(subject, detail.to_owned()));
        Exhausted
    }

    /// Adds the error of a rule that evaluates to false.
    fn rule_failure(
        &mut self,
        subject: &Subject<'_>,
        rule: &CompiledRule,
        activation: &Activation<'_>,
    ) -> Result<(), Exhausted> {
        let is_ignored = !rule.uses_old_self && subject.is_unchanged;
        let field = match (
            subject.path,
            compile::field_path(&rule.field_path, subject.schema),
        ) {
            (path, None) => path.to_owned(),
            ("", Some(suffix)) => suffix.trim_start_matches('.').to_owned(),
            (path, Some(suffix)) => format!("{path}{suffix}"),
        };
        let detail = match self.message(rule, activation) {
            Ok(detail) => detail,
            Err(detail) => {
                if !is_ignored {
                    let type_ = type_name(subject.schema.type_);
                    self.errors
                        .push(field::Error::invalid(field, type_, detail));
                }
                return Err(Exhausted);
            }
        };
        if is_ignored {
            return Ok(());
        }
        let detail = detail.unwrap_or_else(|| match rule.message.as_str() {
            "" => format!("failed rule: {}", rule.rule.trim()),
            message => message.trim().to_owned(),
        });
        let is_large = matches!(subject.schema.type_, Type::Object | Type::Array);
        let value = (!is_large).then(|| BadValue::from(subject.value));
        self.errors.push(match rule.reason.as_deref() {
            Some("FieldValueForbidden") => field::Error::forbidden(field, detail),
            Some("FieldValueRequired") => field::Error::required(field, detail),
            Some("FieldValueDuplicate") => {
                field::Error::new(ErrorType::Duplicate, field, value, "")
            }
            _ => field::Error::new(ErrorType::Invalid, field, value, detail),
        });
        Ok(())
    }

    /// The value of `messageExpression`, if it is a valid message. Fails with a detail if the budget is exhausted.
    fn message(
        &mut self,
        rule: &CompiledRule,
        activation: &Activation<'_>,
    ) -> Result<Option<String>, String> {
        let Ok(Some(program)) = &rule.message_program else {
            return Ok(None);
        };
        let evaluation = program.evaluate(activation, Limits::PER_CALL);
        let Some(budget) = self.budget.checked_sub(evaluation.cost) else {
            let detail = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
            return Err(detail.to_owned());
        };
        self.budget = budget;
        let text = match evaluation.result {
            Ok(CelValue::String(text)) => text,
            Err(error) if error.is_cancellation() => {
                let text = outrigger_gostd::strconv::quote(&rule.message_expression);
                return Err(format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {text}"
                ));
            }
            _ => return Ok(None),
        };
        let text = text.as_str().trim();
        let is_valid = !text.is_empty() && text.len() <= MAX_MESSAGE_LENGTH && !text.contains('\n');
        Ok(is_valid.then(|| text.to_owned()))
    }
}

/// The error of a rule that cannot be evaluated. Shows the type instead of the value.
fn evaluation_failure(subject: &Subject<'_>, detail: String) -> field::Error {
    field::Error::invalid(subject.path, type_name(subject.schema.type_), detail)
}

fn evaluation_message(error: &CelError, rule: &CompiledRule) -> String {
    let name = if rule.message.is_empty() {
        rule.rule.trim()
    } else {
        rule.message.trim()
    };
    let message = error.to_string();
    if error.is_cancellation() {
        format!(
            "'{message}': no further validation rules will be run due to call cost exceeds limit for rule: {name}"
        )
    } else if message.starts_with("no such overload") {
        format!(
            "'{message}': call arguments did not match a supported operator, function or macro signature for rule: {name}"
        )
    } else {
        format!("{message} evaluating rule: {name}")
    }
}
