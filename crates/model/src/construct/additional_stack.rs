//! A stack besides those of the cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Construct, Sharing, cluster_only, stack};
use crate::scope::Scope;

/// A nested stack. Its contents are contributed as resources, outputs and parameters of the stack `additional: NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdditionalStack {
    /// The logical name in the root stack.
    pub name: String,
    /// Logical names of nested stacks that must exist first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Values of its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
}

impl Construct for AdditionalStack {
    const KIND: &'static str = "stack";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        self.name.clone()
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        cluster_only(scope)?;
        stack::check_logical_name(&self.name)?;
        let reserved = ["Root", "Network", "Etcd", "ControlPlane"];
        if reserved.contains(&self.name.as_str()) || self.name.starts_with("NodePool") {
            return Err("the name is reserved for a stack of the cluster".to_owned());
        }
        Ok(())
    }
}
