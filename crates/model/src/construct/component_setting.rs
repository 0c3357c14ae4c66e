//! A field of a component's configuration file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Component, Construct, Sharing};
use crate::scope::Scope;

/// A field of the configuration of the kubelet or of kube-proxy. Plugins that agree may share one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ComponentSetting {
    /// The component.
    pub component: Component,
    /// The field, as names from the document downwards.
    pub path: Vec<String>,
    /// The value. Objects are contributed field by field.
    pub value: Value,
}

impl Construct for ComponentSetting {
    const KIND: &'static str = "setting";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        format!("{} {}", self.component, self.path.join("."))
    }

    /// One contribution for each field of an object.
    fn parts(self) -> Vec<Self> {
        match self.value {
            Value::Object(fields) if !fields.is_empty() => {
                let parts = fields.into_iter().flat_map(|(name, value)| {
                    let mut path = self.path.clone();
                    path.push(name);
                    Self {
                        component: self.component,
                        path,
                        value,
                    }
                    .parts()
                });
                parts.collect()
            }
            _ => vec![self],
        }
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.component.check(scope)?;
        if !matches!(self.component, Component::Kubelet | Component::KubeProxy) {
            return Err(format!(
                "{} has no configuration file; use a flag",
                self.component
            ));
        }
        if self.path.is_empty() {
            Err("the path is empty".to_owned())
        } else {
            Ok(())
        }
    }
}
