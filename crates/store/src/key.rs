//! Keys of objects: `/{group}/{resource}/{namespace}/{name}` as one comparable string.
//!
//! Keys sort by that string, which is the order in which Kubernetes lists objects. Names are not validated here, except
//! that they must not contain separators.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The longest key in bytes. Group, resource, namespace and name have at most 253 each in Kubernetes.
const MAX_LENGTH: usize = 1024;

/// Why a key is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the {part} of a key is empty")]
    Empty {
        /// `resource` or `name`.
        part: &'static str,
    },
    #[error("the {part} of a key contains a separator")]
    Separator {
        /// `group`, `resource`, `namespace` or `name`.
        part: &'static str,
    },
    #[error("a key of {length} bytes exceeds the limit of {MAX_LENGTH}")]
    TooLong { length: usize },
    /// Text that is not of the form `/{group}/{resource}/{namespace}/{name}`.
    #[error("{text:?} is not a key")]
    Malformed {
        /// Truncated if it is long.
        text: Box<str>,
    },
}

/// A resource: a group (empty for the core group) and a plural name, such as `apps` and `deployments`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// `/{group}/{plural}/`
    prefix: Arc<str>,
}

impl Resource {
    /// `group` is empty for the core group.
    pub fn new(group: &str, plural: &str) -> Result<Self, KeyError> {
        check("group", group)?;
        check("resource", plural)?;
        if plural.is_empty() {
            return Err(KeyError::Empty { part: "resource" });
        }
        check_length(group.len() + plural.len() + 3)?;
        Ok(Self {
            prefix: format!("/{group}/{plural}/").into(),
        })
    }

    /// The key of an object; `namespace` is empty for cluster-scoped objects.
    pub fn key(&self, namespace: &str, name: &str) -> Result<Key, KeyError> {
        check("namespace", namespace)?;
        check("name", name)?;
        if name.is_empty() {
            return Err(KeyError::Empty { part: "name" });
        }
        check_length(self.prefix.len() + namespace.len() + 1 + name.len())?;
        let text: Arc<str> = format!("{}{namespace}/{name}", self.prefix).into();
        Ok(Key {
            resource_end: offset(self.prefix.len()),
            namespace_end: offset(self.prefix.len() + namespace.len() + 1),
            text,
        })
    }

    /// The API group, empty for the core group.
    pub fn group(&self) -> &str {
        self.parts().0
    }

    pub fn plural(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        let inner = self.prefix.trim_matches('/');
        match inner.split_once('/') {
            Some(parts) => parts,
            None => ("", inner),
        }
    }
}

impl Borrow<str> for Resource {
    fn borrow(&self) -> &str {
        &self.prefix
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.prefix)
    }
}

/// The key of one object. Cheap to clone; ordered like its text.
#[derive(Clone)]
pub struct Key {
    text: Arc<str>,
    /// End of `/{group}/{resource}/`.
    resource_end: u16,
    /// End of `/{group}/{resource}/{namespace}/`.
    namespace_end: u16,
}

impl Key {
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let malformed = || KeyError::Malformed {
            text: text.chars().take(100).collect(),
        };
        let parts: [&str; 5] = text
            .splitn(5, '/')
            .collect::<Vec<_>>()
            .try_into()
            .map_err(|_| malformed())?;
        let ["", group, plural, namespace, name] = parts else {
            return Err(malformed());
        };
        Resource::new(group, plural)?.key(namespace, name)
    }

    /// `/{group}/{resource}/{namespace}/{name}`
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn resource(&self) -> Resource {
        Resource {
            prefix: self.resource_prefix().into(),
        }
    }

    /// Empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        &self.text[usize::from(self.resource_end)..usize::from(self.namespace_end) - 1]
    }

    pub fn name(&self) -> &str {
        &self.text[usize::from(self.namespace_end)..]
    }

    /// `/{group}/{resource}/`, which a [`Resource`] borrows as.
    pub(crate) fn resource_prefix(&self) -> &str {
        &self.text[..usize::from(self.resource_end)]
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn check(part: &'static str, text: &str) -> Result<(), KeyError> {
    if text.bytes().any(|byte| byte == b'/' || byte == 0) {
        return Err(KeyError::Separator { part });
    }
    Ok(())
}

fn check_length(length: usize) -> Result<(), KeyError> {
    if length > MAX_LENGTH {
        return Err(KeyError::TooLong { length });
    }
    Ok(())
}

fn offset(position: usize) -> u16 {
    u16::try_from(position).expect("the length of a key is checked before")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_a_key_into_its_parts() {
        let resource = Resource::new("apps", "deployments").unwrap();
        let key = resource.key("default", "web").unwrap();
        assert_eq!(key.as_str(), "/apps/deployments/default/web");
        assert_eq!(key.resource(), resource);
        assert_eq!((key.namespace(), key.name()), ("default", "web"));
        assert_eq!(
            (resource.group(), resource.plural()),
            ("apps", "deployments")
        );
        assert_eq!(Key::parse(key.as_str()).unwrap(), key);
    }

    #[test]
    fn the_core_group_and_cluster_scope_are_empty_parts() {
        let resource = Resource::new("", "namespaces").unwrap();
        let key = resource.key("", "default").unwrap();
        assert_eq!(key.as_str(), "//namespaces//default");
        assert_eq!((resource.group(), resource.plural()), ("", "namespaces"));
        assert_eq!((key.namespace(), key.name()), ("", "default"));
        assert_eq!(Key::parse(key.as_str()).unwrap(), key);
    }

    #[test]
    fn rejects_parts_with_separators() {
        let resource = Resource::new("", "pods").unwrap();
        assert_eq!(
            resource.key("a/b", "x"),
            Err(KeyError::Separator { part: "namespace" })
        );
        assert_eq!(resource.key("a", ""), Err(KeyError::Empty { part: "name" }));
        assert!(matches!(
            resource.key("a", &"x".repeat(2000)),
            Err(KeyError::TooLong { .. })
        ));
        assert!(Resource::new("", "").is_err());
        for text in ["", "/", "a/b/c/d", "/a/b/c", "/a/b/c/d/e"] {
            assert!(Key::parse(text).is_err(), "{text}");
        }
    }
}
