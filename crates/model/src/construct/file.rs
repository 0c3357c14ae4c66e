//! A file on machines.

use serde::{Deserialize, Serialize};

use super::{Construct, Content, Sharing};
use crate::scope::Scope;

/// A file on machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// The absolute path.
    pub path: String,
    /// The permission bits.
    #[serde(default = "default_mode")]
    pub mode: u32,
    /// The content.
    pub content: Content,
}

const fn default_mode() -> u32 {
    0o644
}

impl Construct for File {
    const KIND: &'static str = "file";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        self.path.clone()
    }

    fn check(&self, _scope: &Scope) -> Result<(), String> {
        check_path(&self.path)?;
        self.content.check()?;
        if self.mode > 0o7777 {
            return Err(format!(
                "mode {:o} has more than the permission bits",
                self.mode
            ));
        }
        if self.content.is_secret() && self.mode & 0o077 != 0 {
            return Err(format!(
                "mode {:04o} lets others read a secret; use 0600 or 0400",
                self.mode
            ));
        }
        Ok(())
    }
}

/// Fails unless the path is absolute and in its shortest form, so that equal files have equal paths.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    let Some(relative) = path.strip_prefix('/') else {
        return Err("the path is not absolute".to_owned());
    };
    if relative
        .split('/')
        .any(|name| matches!(name, "" | "." | ".."))
    {
        return Err("the path has an empty, . or .. component".to_owned());
    }
    if path.chars().any(char::is_control) || path.len() > 4095 {
        return Err("the path is too long or contains control characters".to_owned());
    }
    Ok(())
}
