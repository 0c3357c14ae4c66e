//! User-defined health rules: CEL expressions over `self` that are true for healthy objects of a kind.

use std::fmt;
use std::sync::Arc;

use outrigger_cel::{Activation, Env, Limits, Program, Type, Value as CelValue};
use serde_json::Value;

use super::{Health, in_progress};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub api_version: String,
    pub kind: String,
    /// A CEL expression over `self`.
    pub healthy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("health rule for {kind} ({api_version}) is not a valid CEL expression: {reason}")]
pub struct InvalidRule {
    pub api_version: String,
    pub kind: String,
    pub reason: String,
}

/// Compiled rules. Cheap to clone.
#[derive(Clone, Default)]
pub struct Rules {
    compiled: Arc<[(Rule, Program)]>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.compiled.iter().map(|(rule, _)| rule);
        f.debug_list().entries(rules).finish()
    }
}

impl Rules {
    /// Compiles the rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Result<Self, InvalidRule> {
        let env = Env::new().variable("self", Type::Dyn);
        let compiled = rules.into_iter().map(|rule| {
            let program = compile(&env, &rule.healthy).map_err(|reason| InvalidRule {
                api_version: rule.api_version.clone(),
                kind: rule.kind.clone(),
                reason,
            })?;
            Ok((rule, program))
        });
        Ok(Self {
            compiled: compiled.collect::<Result<_, _>>()?,
        })
    }

    /// Assesses an object; none if no rule applies to its kind.
    pub(super) fn assess(&self, object: &Value) -> Option<Health> {
        let mut rules = self
            .compiled
            .iter()
            .filter(|(rule, _)| {
                object["apiVersion"] == rule.api_version.as_str()
                    && object["kind"] == rule.kind.as_str()
            })
            .peekable();
        rules.peek()?;
        let unmet = rules.find_map(|(rule, program)| unmet(rule, program, object));
        Some(unmet.map_or(Health::Current, in_progress))
    }
}

fn compile(env: &Env, text: &str) -> Result<Program, String> {
    let compiled = env.compile(text).map_err(|issues| issues.to_string())?;
    let type_ = compiled.output_type();
    if !matches!(type_, Type::Bool | Type::Dyn) {
        return Err(format!("must evaluate to a bool, not to {type_}"));
    }
    compiled.program().map_err(|error| error.to_string())
}

/// Why a rule is not met. An error, such as a missing field, may go away with the next status update.
fn unmet(rule: &Rule, program: &Program, object: &Value) -> Option<String> {
    let activation = Activation::new().variable("self", CelValue::from_json(object));
    match program.evaluate(&activation, Limits::PER_CALL).result {
        Ok(CelValue::Bool(true)) => None,
        Ok(CelValue::Bool(false)) => Some(format!("health rule is false: {}", rule.healthy)),
        Ok(_) => Some(format!("health rule is not a boolean: {}", rule.healthy)),
        Err(reason) => Some(format!("health rule failed: {}: {reason}", rule.healthy)),
    }
}
