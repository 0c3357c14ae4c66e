//! Rules that the user wrote: CEL over `self`, true when an object of a kind is healthy.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::{Context, Program, Value as CelValue, to_value};
use serde_json::Value;

use super::{Health, in_progress};

/// When objects of a kind are healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub api_version: String,
    pub kind: String,
    /// An expression over `self`.
    pub healthy: String,
}

/// A rule that is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the health rule of {kind} ({api_version}) cannot be read: {reason}")]
pub struct InvalidRule {
    pub api_version: String,
    pub kind: String,
    pub reason: String,
}

/// Rules that were read. Cheap to clone.
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
    /// Registering all functions takes longer than most rules.
    static FUNCTIONS: RefCell<Context<'static>> = RefCell::new(Context::default().with_all());
}

impl Rules {
    /// Reads the rules.
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

    /// What the rules for the kind say; none if there are none.
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
        let fault = rules.find_map(|(rule, program)| fault(rule, program, object));
        Some(fault.map_or(Health::Current, in_progress))
    }
}

/// Why the object is not healthy yet. A field that is not there yet is no failure.
fn fault(rule: &Rule, program: &Program, object: &Value) -> Option<String> {
    let result = FUNCTIONS.with_borrow(|functions| {
        let mut scope = functions.new_inner_scope();
        let object = to_value(object).map_err(|error| error.to_string())?;
        scope.add_variable_from_value("self", object);
        program.execute(&scope).map_err(|error| error.to_string())
    });
    match result {
        Ok(CelValue::Bool(true)) => None,
        Ok(CelValue::Bool(false)) => Some(format!("not true yet: {}", rule.healthy)),
        Ok(_) => Some(format!("neither true nor false: {}", rule.healthy)),
        Err(reason) => Some(format!("{}: {reason}", rule.healthy)),
    }
}
