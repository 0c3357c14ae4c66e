//! Identifiers of releases and objects.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReleaseId {
    pub namespace: String,
    pub name: String,
}

impl ReleaseId {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Identifies an object in one version of its API. Cluster-scoped objects have no namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectId {
    pub api_version: String,
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
}

impl ObjectId {
    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// Whether both identify the same object, possibly in different API versions.
    pub fn is_same_object(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey {
            group: self.group().to_owned(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// The identifier as Helm writes it in errors, but without the empty namespace of a cluster-scoped object.
    pub(crate) fn helm_text(&self) -> String {
        let object = format!("{} {:?}", self.kind, self.name);
        match &self.namespace {
            Some(namespace) => format!("{object} in namespace {namespace:?}"),
            None => object,
        }
    }

    /// The identifier in a manifest, with the namespace only if the manifest has one.
    pub(crate) fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: metadata["namespace"]
                .as_str()
                .filter(|namespace| !namespace.is_empty())
                .map(str::to_owned),
            name: text(&metadata["name"]),
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{}/{}", self.kind, namespace, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

/// Identifies an object independently of the API version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    group: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_the_same_in_all_versions_of_its_api_group() {
        let object = |version: &str| {
            ObjectId::of(&json!({
                "apiVersion": version, "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "web", "namespace": "shop"},
            }))
        };
        assert!(object("autoscaling/v1").is_same_object(&object("autoscaling/v2")));
        assert!(!object("autoscaling/v1").is_same_object(&object("example.com/v1")));
        assert_eq!(
            object("autoscaling/v2").to_string(),
            "HorizontalPodAutoscaler/shop/web"
        );
    }
}
