//! A tag of all resources of a stack.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Construct, Sharing, StackName, require};
use crate::scope::Scope;

/// A tag of a stack. Its Auto Scaling groups propagate it to machines if asked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tag {
    /// The stack.
    pub stack: StackName,
    /// The key.
    pub key: String,
    /// The value, a text or an intrinsic function.
    pub value: Value,
    /// Whether machines get it too.
    #[serde(default)]
    pub propagate_at_launch: bool,
}

impl Construct for Tag {
    const KIND: &'static str = "tag";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        format!("{}/{}", self.stack, self.key)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.stack.check(scope)?;
        require("key", &self.key)?;
        if self.key.chars().count() > 128 {
            return Err("keys of tags have at most 128 characters".to_owned());
        }
        if self.key.starts_with("aws:") {
            return Err("keys that start with aws: are reserved".to_owned());
        }
        Ok(())
    }
}
