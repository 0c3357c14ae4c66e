//! The API path of an object or a collection.

use outrigger_builtin::kinds::Kind;
use outrigger_store::Key;

/// A collection, or an object if it has a name. The namespace is empty for cluster-scoped resources and for all
/// namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourcePath {
    /// `v1` or `group/version`.
    pub api_version: String,
    pub plural: String,
    pub namespace: String,
    pub name: String,
}

impl ResourcePath {
    /// A collection in all namespaces or cluster-scoped.
    pub fn all(api_version: &str, plural: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            plural: plural.to_owned(),
            namespace: String::new(),
            name: String::new(),
        }
    }

    /// The path of the stored object of a kind.
    pub fn of_key(kind: &Kind, key: &Key) -> Self {
        Self::all(&kind.api_version(), &kind.plural)
            .in_namespace(key.namespace())
            .named(key.name())
    }

    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The path of the object, or of the collection if there is no name.
    pub fn path(&self) -> String {
        let mut path = self.collection();
        if !self.name.is_empty() {
            path.push('/');
            path.push_str(&escaped(&self.name));
        }
        path
    }

    pub(super) fn path_with(&self, query: &str) -> String {
        match query {
            "" => self.path(),
            query => format!("{}?{query}", self.path()),
        }
    }

    pub(super) fn collection(&self) -> String {
        let root = if self.api_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        let (version, plural) = (&self.api_version, &self.plural);
        match self.namespace.as_str() {
            "" => format!("/{root}/{version}/{plural}"),
            namespace => format!(
                "/{root}/{version}/namespaces/{}/{plural}",
                escaped(namespace)
            ),
        }
    }
}

/// Percent-encodes a name: those of roles may contain `%` and `?`.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_api_paths() {
        let pods = ResourcePath::all("v1", "pods");
        assert_eq!(pods.path(), "/api/v1/pods");
        assert_eq!(
            pods.clone().in_namespace("n").named("a").path(),
            "/api/v1/namespaces/n/pods/a"
        );
        let role = ResourcePath::all("rbac.authorization.k8s.io/v1", "clusterroles").named("a:b c");
        assert_eq!(
            role.path(),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:b%20c"
        );
        assert_eq!(pods.path_with("limit=1"), "/api/v1/pods?limit=1");
    }
}
