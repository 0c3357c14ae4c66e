//! Which objects a list or a watch is about: all, one resource, one namespace of it, one name.

use std::sync::Arc;

use super::key::{Key, KeyError, Resource};

/// A part of all objects. Everything but the name is a range of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    resource: Option<Resource>,
    /// What the keys begin with.
    prefix: Arc<str>,
    name: Option<Box<str>>,
}

impl Scope {
    /// Every object of every resource.
    pub fn everything() -> Self {
        Self {
            resource: None,
            prefix: "/".into(),
            name: None,
        }
    }

    /// Every object of one resource.
    pub fn resource(resource: &Resource) -> Self {
        let prefix: &str = std::borrow::Borrow::borrow(resource);
        Self {
            resource: Some(resource.clone()),
            prefix: prefix.into(),
            name: None,
        }
    }

    /// The objects of one resource in one namespace.
    pub fn namespace(resource: &Resource, namespace: &str) -> Result<Self, KeyError> {
        // Any name proves that the namespace fits into a key.
        let key = resource.key(namespace, "x")?;
        let prefix = &key.as_str()[..key.as_str().len() - 1];
        Ok(Self {
            resource: Some(resource.clone()),
            prefix: prefix.into(),
            name: None,
        })
    }

    /// The same, but only objects of this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// Whether the object at `key` belongs to the scope.
    pub fn contains(&self, key: &Key) -> bool {
        key.as_str().starts_with(&*self.prefix)
            && self.name.as_deref().is_none_or(|name| key.name() == name)
    }

    pub(crate) fn of_resource(&self) -> Option<&Resource> {
        self.resource.as_ref()
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_does_not_contain_one_that_begins_alike() {
        let pods = Resource::new("", "pods").unwrap();
        let scope = Scope::namespace(&pods, "team").unwrap();
        assert!(scope.contains(&pods.key("team", "a").unwrap()));
        assert!(!scope.contains(&pods.key("team-b", "a").unwrap()));
        assert!(
            !scope.contains(
                &Resource::new("", "secrets")
                    .unwrap()
                    .key("team", "a")
                    .unwrap()
            )
        );
    }

    #[test]
    fn a_name_counts_in_every_namespace() {
        let pods = Resource::new("", "pods").unwrap();
        let scope = Scope::resource(&pods).named("web");
        assert!(scope.contains(&pods.key("a", "web").unwrap()));
        assert!(scope.contains(&pods.key("b", "web").unwrap()));
        assert!(!scope.contains(&pods.key("a", "web-1").unwrap()));
        assert!(Scope::everything().contains(&pods.key("a", "web").unwrap()));
    }
}
