//! A host path that a component mounts.

use serde::{Deserialize, Serialize};

use super::file::check_path;
use super::{Component, Construct, Sharing};
use crate::scope::Scope;

/// A host path that a component mounts. Plugins that agree may share one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Volume {
    /// The component.
    pub component: Component,
    /// The name.
    pub name: String,
    /// The path on the host and in the container.
    pub path: String,
    /// Whether the component cannot write to it.
    #[serde(default)]
    pub read_only: bool,
}

impl Construct for Volume {
    const KIND: &'static str = "volume";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        format!("{} {}", self.component, self.name)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.component.check(scope)?;
        check_path(&self.path)?;
        let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if self.name.is_empty() || self.name.len() > 63 || !self.name.bytes().all(is_allowed) {
            return Err(
                "names of volumes have 1 to 63 lowercase letters, digits and hyphens".to_owned(),
            );
        }
        Ok(())
    }
}
