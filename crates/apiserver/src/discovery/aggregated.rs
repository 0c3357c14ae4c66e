//! Aggregated discovery: everything below `/api` or `/apis` in one document.

use outrigger_builtin::kinds::{Group, Kind, Kinds, Subresource, Version};
use serde::Serialize;
use sha2::Digest as _;

/// The media type in the `Accept` header of the request, and of the response.
pub const CONTENT_TYPE: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Which part of the API a document covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// `/api`: the core group.
    Core,
    /// `/apis`: all groups with a name.
    Named,
}

/// `APIGroupDiscoveryList`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupDiscoveryList {
    kind: &'static str,
    api_version: &'static str,
    #[serde(flatten)]
    content: Content,
}

#[derive(Debug, Serialize)]
struct Content {
    metadata: Metadata,
    items: Vec<GroupDiscovery>,
}

#[derive(Debug, Serialize)]
struct Metadata {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
}

#[derive(Debug, Serialize)]
struct GroupDiscovery {
    metadata: Metadata,
    versions: Vec<VersionDiscovery>,
}

#[derive(Debug, Serialize)]
struct VersionDiscovery {
    version: String,
    resources: Vec<ResourceDiscovery>,
    freshness: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery {
    resource: String,
    response_kind: ResponseKind,
    scope: &'static str,
    singular_resource: String,
    verbs: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceDiscovery>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceDiscovery {
    subresource: &'static str,
    response_kind: ResponseKind,
    verbs: &'static [&'static str],
}

/// Group and version are empty for built-in kinds that have those of their list.
#[derive(Debug, Serialize)]
struct ResponseKind {
    group: String,
    version: String,
    kind: String,
}

pub fn group_discovery_list(kinds: &Kinds, root: Root) -> GroupDiscoveryList {
    let groups = kinds.groups.iter();
    let groups = groups.filter(|group| group.name.is_empty() == (root == Root::Core));
    GroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version: "apidiscovery.k8s.io/v2",
        content: Content {
            metadata: Metadata {
                name: String::new(),
            },
            items: groups.map(group).collect(),
        },
    }
}

impl GroupDiscoveryList {
    /// The `ETag` without quotes.
    pub fn etag(&self) -> String {
        let content = serde_json::to_vec(&self.content).unwrap_or_default();
        let digest = sha2::Sha512::digest(content);
        digest.iter().map(|byte| format!("{byte:02X}")).collect()
    }
}

fn group(group: &Group) -> GroupDiscovery {
    GroupDiscovery {
        metadata: Metadata {
            name: group.name.clone(),
        },
        versions: group.versions.iter().map(version).collect(),
    }
}

fn version(version: &Version) -> VersionDiscovery {
    VersionDiscovery {
        version: version.name.clone(),
        resources: version.kinds.iter().map(|kind| resource(kind)).collect(),
        freshness: "Current",
    }
}

fn resource(kind: &Kind) -> ResourceDiscovery {
    let subresources = kind.subresources.iter();
    ResourceDiscovery {
        resource: kind.plural.clone(),
        response_kind: response_kind(kind, &kind.kind),
        scope: if kind.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        },
        singular_resource: kind.singular.clone(),
        verbs: kind.verbs.clone(),
        short_names: kind.short_names.clone(),
        categories: kind.categories.clone(),
        subresources: subresources.map(|sub| subresource(kind, sub)).collect(),
    }
}

fn subresource(kind: &Kind, subresource: &Subresource) -> SubresourceDiscovery {
    let response_kind = match subresource.group_version {
        Some((group, version)) => ResponseKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: subresource.kind.clone(),
        },
        None => response_kind(kind, &subresource.kind),
    };
    SubresourceDiscovery {
        subresource: subresource.name,
        response_kind,
        verbs: subresource.verbs,
    }
}

fn response_kind(kind: &Kind, name: &str) -> ResponseKind {
    let (group, version) = match kind.custom {
        Some(_) => (kind.group.clone(), kind.version.clone()),
        None => (String::new(), String::new()),
    };
    ResponseKind {
        group,
        version,
        kind: name.to_owned(),
    }
}
