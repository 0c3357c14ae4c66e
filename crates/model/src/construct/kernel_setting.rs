//! A kernel setting (sysctl).

use serde::{Deserialize, Serialize};

use super::{Construct, Sharing, require};
use crate::scope::Scope;

/// A kernel setting, such as `net.ipv4.ip_forward = 1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KernelSetting {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

impl Construct for KernelSetting {
    const KIND: &'static str = "kernel setting";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        self.name.replace('/', ".")
    }

    fn check(&self, _scope: &Scope) -> Result<(), String> {
        require("name", &self.name)?;
        require("value", &self.value)?;
        if self.name.contains(['=', ' ']) {
            return Err("the name contains = or a space".to_owned());
        }
        Ok(())
    }
}
