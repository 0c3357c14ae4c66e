//! User-defined health rules: CEL expressions over `self` that are true for healthy objects of a kind.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::{Context, Program, Value as CelValue, to_value};
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

thread_local! {
    /// Cached, because registering all functions takes longer than executing most rules.
    static FUNCTIONS: RefCell<Context<'static>> = RefCell::new(Context::default().with_all());
}

impl Rules {
    /// Compiles the rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Result<Self, InvalidRule> {
        let compiled = rules.into_iter().map(|rule| {
            let program = Program::compile(&rule.healthy).map_err(|error| InvalidRule {
                api_version: rule.api_version.clone(),
                kind: rule.kind.clone(),
                reason: error.to_string(),
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

/// Why a rule is not met. An error, such as a missing field, may go away with the next status update.
fn unmet(rule: &Rule, program: &Program, object: &Value) -> Option<String> {
    let result = FUNCTIONS.with_borrow(|functions| {
        let mut scope = functions.new_inner_scope();
        let object = to_value(object).map_err(|error| error.to_string())?;
        scope.add_variable_from_value("self", object);
        program.execute(&scope).map_err(|error| error.to_string())
    });
    match result {
        Ok(CelValue::Bool(true)) => None,
        Ok(CelValue::Bool(false)) => Some(format!("health rule is false: {}", rule.healthy)),
        Ok(_) => Some(format!("health rule is not a boolean: {}", rule.healthy)),
        Err(reason) => Some(format!("health rule failed: {}: {reason}", rule.healthy)),
    }
}
