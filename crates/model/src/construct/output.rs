//! A CloudFormation output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Construct, Sharing, StackName, stack};
use crate::scope::Scope;

/// An output of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Output {
    /// The stack.
    pub stack: StackName,
    /// The logical name.
    pub name: String,
    /// The value, such as `{"Ref": "Vpc"}`.
    pub value: Value,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The name under which other stacks import it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<Value>,
}

impl Construct for Output {
    const KIND: &'static str = "output";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        format!("{}/{}", self.stack, self.name)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.stack.check(scope)?;
        stack::check_logical_name(&self.name)
    }
}
