//! A systemd unit.

use serde::{Deserialize, Serialize};

use super::{Construct, Sharing};
use crate::scope::Scope;

/// A systemd unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unit {
    /// The name with its suffix, such as `agent.service`.
    pub name: String,
    /// The unit file. Without it, an existing unit is enabled, started or masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether it starts at boot.
    #[serde(default = "yes")]
    pub enable: bool,
    /// Whether it starts during the installation.
    #[serde(default = "yes")]
    pub start: bool,
    /// Whether it is masked.
    #[serde(default)]
    pub mask: bool,
}

const fn yes() -> bool {
    true
}

impl Construct for Unit {
    const KIND: &'static str = "unit";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        self.name.clone()
    }

    fn check(&self, _scope: &Scope) -> Result<(), String> {
        check_unit_name(&self.name)?;
        if self.mask && (self.enable || self.start || self.content.is_some()) {
            return Err(
                "a masked unit has no content and is neither enabled nor started".to_owned(),
            );
        }
        Ok(())
    }
}

/// The types of units that systemd has.
const SUFFIXES: [&str; 9] = [
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
];

/// Fails unless the text is the name of a systemd unit.
pub(super) fn check_unit_name(name: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
    let suffix = name
        .rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, suffix)| suffix);
    if name.len() > 255 || !name.bytes().all(is_allowed) {
        return Err("names of units have at most 255 letters, digits and :-_.\\@".to_owned());
    }
    match suffix {
        Some(suffix) if SUFFIXES.contains(&suffix) => Ok(()),
        _ => Err(format!(
            "names of units end in one of .{}",
            SUFFIXES.join(", .")
        )),
    }
}
