//! IAM: what plugins ask for, wildcards, and the lengths of names.

use std::collections::BTreeSet;

use outrigger_model::{Model, Owner, Scope};
use serde_json::Value;

use crate::finding::Finding;

/// A permission that plugins ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privilege {
    pub owners: BTreeSet<Owner>,
    pub scope: Scope,
    pub actions: BTreeSet<String>,
    pub resources: Vec<Value>,
    /// Why it is more than a plugin should ask for, if it is.
    pub wildcard: Option<String>,
}

/// All permissions that plugins ask for.
pub fn privileges(model: &Model) -> Vec<Privilege> {
    let statements = model.iam_statements.entries().map(|entry| Privilege {
        owners: entry.owners.clone(),
        scope: entry.scope.clone(),
        actions: entry.value.actions.clone(),
        resources: entry.value.resources.clone(),
        wildcard: entry.value.wildcard(),
    });
    statements.collect()
}

/// Wildcards are refused, unless `policy.allowWildcardIam` of the configuration names the plugin.
pub(super) fn wildcards(model: &Model, configuration: &Value) -> Vec<Finding> {
    let allowed = configuration
        .pointer("/policy/allowWildcardIam")
        .and_then(Value::as_array);
    let is_allowed = |owner: &Owner| {
        allowed.is_some_and(|allowed| allowed.iter().any(|name| name == owner.as_str()))
    };
    let mut findings = Vec::new();
    for privilege in privileges(model) {
        let Some(wildcard) = &privilege.wildcard else {
            continue;
        };
        for owner in &privilege.owners {
            let message = format!("asks for {wildcard} ({})", privilege.scope);
            findings.push(if is_allowed(owner) {
                Finding::warning(owner.as_str(), message)
            } else {
                Finding::fatal(
                    owner.as_str(),
                    format!("{message}; add it to policy.allowWildcardIam to allow this"),
                )
            });
        }
    }
    findings
}

/// The maximum lengths of names.
const LIMITS: [(&str, &str, usize); 5] = [
    ("AWS::IAM::Role", "RoleName", 64),
    ("AWS::IAM::User", "UserName", 64),
    ("AWS::IAM::ManagedPolicy", "ManagedPolicyName", 128),
    ("AWS::IAM::InstanceProfile", "InstanceProfileName", 128),
    ("AWS::ElasticLoadBalancingV2::LoadBalancer", "Name", 32),
];

pub(super) fn names(model: &Model) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in model.resources.entries() {
        let body = &entry.value.body;
        for (kind, field, limit) in LIMITS {
            let name = body
                .get("Properties")
                .and_then(|properties| properties.get(field))
                .and_then(Value::as_str);
            let length = name.map_or(0, |name| name.chars().count());
            if body.get("Type").is_some_and(|value| value == kind) && length > limit {
                let owner = entry.owners.first().map_or("", Owner::as_str);
                let message = format!(
                    "{field} of {} has {length} characters; at most {limit} are allowed",
                    entry.value.name
                );
                findings.push(Finding::fatal(owner, message));
            }
        }
    }
    findings
}
