//! A permission of the IAM role of machines.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Construct, Sharing};
use crate::scope::Scope;

/// A statement of the policy of a role. Equal statements are one, with several owners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IamStatement {
    /// Whether it allows or denies.
    #[serde(default)]
    pub effect: Effect,
    /// The actions, such as `s3:GetObject`.
    pub actions: BTreeSet<String>,
    /// The resources: ARNs or intrinsic functions.
    pub resources: Vec<Value>,
    /// The condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Value>,
}

/// Whether a statement allows or denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Effect {
    /// Allows.
    #[default]
    Allow,
    /// Denies.
    Deny,
}

impl IamStatement {
    /// Why the statement grants more than a plugin should ask for, if it does: all actions of a service, or an action that
    /// takes over other roles on all resources.
    pub fn wildcard(&self) -> Option<String> {
        if self.effect == Effect::Deny || self.condition.is_some() {
            return None;
        }
        let wide = |action: &&String| action.as_str() == "*" || action.ends_with(":*");
        if let Some(action) = self.actions.iter().find(wide) {
            return Some(format!("action {action:?}"));
        }
        let is_everything = self.resources.iter().any(|resource| resource == "*");
        let mut risky = self.actions.iter().filter(|action| takes_over(action));
        risky
            .next()
            .filter(|_| is_everything)
            .map(|action| format!("action {action:?} on resource \"*\""))
    }
}

/// Whether an action on all resources gives access to whatever other roles may do.
fn takes_over(action: &str) -> bool {
    action.starts_with("sts:Assume")
        || action.starts_with("iam:")
        || action.starts_with("kms:Decrypt")
}

impl Construct for IamStatement {
    const KIND: &'static str = "IAM statement";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn check(&self, _scope: &Scope) -> Result<(), String> {
        if self.actions.is_empty() || self.resources.is_empty() {
            return Err("has no actions or no resources".to_owned());
        }
        match self
            .actions
            .iter()
            .find(|action| *action != "*" && !action.contains(':'))
        {
            Some(action) => Err(format!(
                "{action:?} is not an action; actions are SERVICE:NAME"
            )),
            None => Ok(()),
        }
    }
}
