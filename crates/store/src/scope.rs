//! The keys that a list or a watch covers: all, one resource, one namespace of it, one name.

use std::sync::Arc;

use super::key::{Key, KeyError, Resource};

/// A set of keys: a prefix, and optionally a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    resource: Option<Resource>,
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

    /// Every object of the resource with this group and plural.
    pub fn of(group: &str, plural: &str) -> Result<Self, KeyError> {
        Ok(Self::resource(&Resource::new(group, plural)?))
    }

    /// The objects of one resource in one namespace.
    pub fn namespace(resource: &Resource, namespace: &str) -> Result<Self, KeyError> {
        // Any name will do to validate the namespace.
        let key = resource.key(namespace, "x")?;
        let prefix = &key.as_str()[..key.as_str().len() - 1];
        Ok(Self {
            resource: Some(resource.clone()),
            prefix: prefix.into(),
            name: None,
        })
    }

    /// Restricts the scope to objects of this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

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
    fn a_namespace_excludes_namespaces_with_the_same_prefix() {
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
    fn a_name_matches_in_every_namespace() {
        let pods = Resource::new("", "pods").unwrap();
        let scope = Scope::resource(&pods).named("web");
        assert!(scope.contains(&pods.key("a", "web").unwrap()));
        assert!(scope.contains(&pods.key("b", "web").unwrap()));
        assert!(!scope.contains(&pods.key("a", "web-1").unwrap()));
        assert!(Scope::everything().contains(&pods.key("a", "web").unwrap()));
    }
}
