//! The key of a plugin: namespace and name.

use std::fmt;

use outrigger_api::plugin::{Dependency, Plugin};

/// Namespace and name of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    pub fn of(plugin: &Plugin) -> Self {
        Self::new(plugin.namespace(), plugin.name())
    }

    /// The plugin that a dependency names. Its namespace defaults to that of the dependent.
    pub fn of_dependency(dependency: &Dependency, dependent: &Self) -> Self {
        let namespace = dependency.namespace.as_ref();
        Self::new(
            namespace.unwrap_or(&dependent.namespace).clone(),
            dependency.name.clone(),
        )
    }

    /// The name alone if the plugin is in `namespace`, else namespace and name.
    pub fn relative_to(&self, namespace: &str) -> String {
        if self.namespace == namespace {
            self.name.clone()
        } else {
            self.to_string()
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
