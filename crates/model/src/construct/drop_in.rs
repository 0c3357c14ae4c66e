//! A drop-in of a systemd unit.

use serde::{Deserialize, Serialize};

use super::unit::check_unit_name;
use super::{Construct, Sharing};
use crate::scope::Scope;

/// A drop-in, which changes a unit that another plugin or the operating system owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DropIn {
    /// The unit.
    pub unit: String,
    /// The name of the file, such as `10-proxy.conf`.
    pub name: String,
    /// Its text.
    pub content: String,
}

impl Construct for DropIn {
    const KIND: &'static str = "drop-in";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        format!("{}.d/{}", self.unit, self.name)
    }

    fn check(&self, _scope: &Scope) -> Result<(), String> {
        check_unit_name(&self.unit)?;
        let stem = self.name.strip_suffix(".conf").unwrap_or_default();
        if stem.is_empty() || stem.contains('/') {
            return Err("names of drop-ins end in .conf and contain no slash".to_owned());
        }
        Ok(())
    }
}
