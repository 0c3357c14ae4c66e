//! A command-line flag of a component.

use serde::{Deserialize, Serialize};

use super::{Component, Construct, Sharing, require};
use crate::scope::Scope;

/// A flag, without the leading hyphens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Flag {
    /// The component.
    pub component: Component,
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// Flags whose value is a set of items, separated by commas. Plugins may contribute items to the same flag.
const SETS: [&str; 8] = [
    "api-audiences",
    "disable-admission-plugins",
    "enable-admission-plugins",
    "feature-gates",
    "node-labels",
    "register-with-taints",
    "runtime-config",
    "service-account-key-file",
];

impl Flag {
    /// Whether the value is a set of items that may have different owners.
    pub fn is_set(name: &str) -> bool {
        SETS.contains(&name)
    }
}

impl Construct for Flag {
    const KIND: &'static str = "flag";
    const SHARING: Sharing = Sharing::WhenEqual;

    /// `COMPONENT --NAME`; for items of sets also the item, or its part before `=`.
    fn key(&self) -> String {
        let flag = format!("{} --{}", self.component, self.name);
        if !Self::is_set(&self.name) {
            return flag;
        }
        let item = self
            .value
            .split_once('=')
            .map_or(self.value.as_str(), |(key, _)| key);
        format!("{flag} {item}")
    }

    fn parts(self) -> Vec<Self> {
        if !Self::is_set(&self.name) {
            return vec![self];
        }
        let items = self.value.split(',').map(|item| Self {
            value: item.trim().to_owned(),
            ..self.clone()
        });
        items.filter(|item| !item.value.is_empty()).collect()
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.component.check(scope)?;
        require("name", &self.name)?;
        if self.name.starts_with('-') || self.name.contains(['=', ' ']) {
            return Err("names of flags have no leading hyphens, no = and no spaces".to_owned());
        }
        if self.value.chars().any(char::is_control) {
            return Err("the value contains control characters".to_owned());
        }
        Ok(())
    }
}
