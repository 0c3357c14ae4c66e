//! Unaggregated discovery: `/api`, `/apis`, and one document for each group and version.

use outrigger_builtin::kinds::{Group, Kind, Kinds, Subresource, Version};
use serde::Serialize;

/// `/api`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiVersions {
    kind: &'static str,
    versions: [&'static str; 1],
    #[serde(rename = "serverAddressByClientCIDRs")]
    addresses: [Address; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: String,
}

pub fn api_versions(server_address: &str) -> ApiVersions {
    ApiVersions {
        kind: "APIVersions",
        versions: ["v1"],
        addresses: [Address {
            client_cidr: "0.0.0.0/0",
            server_address: server_address.to_owned(),
        }],
    }
}

/// `/apis`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiGroupList {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup>,
}

/// `/apis/{group}`, and an item of [`ApiGroupList`], which omits `kind` and `apiVersion`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiGroup {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: String,
    versions: Vec<GroupVersion>,
    preferred_version: GroupVersion,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
    version: String,
}

pub fn api_group_list(kinds: &Kinds) -> ApiGroupList {
    let mut groups: Vec<&Group> = kinds.groups.iter().collect();
    groups.retain(|group| !group.name.is_empty());
    // Groups of equal priority are sorted by the name of their version here, and by their own in aggregated discovery.
    groups.sort_by(|a, b| {
        let by_priority = b.priority().cmp(&a.priority());
        by_priority.then_with(|| first_service(a).cmp(&first_service(b)))
    });
    ApiGroupList {
        kind: "APIGroupList",
        api_version: "v1",
        groups: groups.into_iter().map(|group| item(group, false)).collect(),
    }
}

fn first_service(group: &Group) -> Option<String> {
    let services = group.versions.iter();
    let services = services.map(|version| format!("{}.{}", version.name, group.name));
    services.min()
}

pub fn api_group(group: &Group) -> ApiGroup {
    item(group, true)
}

fn item(group: &Group, alone: bool) -> ApiGroup {
    let versions: Vec<_> = group
        .versions
        .iter()
        .map(|version| GroupVersion {
            group_version: format!("{}/{}", group.name, version.name),
            version: version.name.clone(),
        })
        .collect();
    ApiGroup {
        kind: alone.then_some("APIGroup"),
        api_version: alone.then_some("v1"),
        name: group.name.clone(),
        preferred_version: versions.first().cloned().unwrap_or_default(),
        versions,
    }
}

/// `/api/v1` and `/apis/{group}/{version}`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiResourceList {
    kind: &'static str,
    /// Absent in the core group.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    group_version: String,
    resources: Vec<ApiResource>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource {
    name: String,
    singular_name: String,
    namespaced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    kind: String,
    verbs: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    storage_version_hash: String,
}

pub fn api_resource_list(group: &str, version: &Version) -> ApiResourceList {
    let resources = version.kinds.iter().flat_map(|kind| {
        let own = std::iter::once(resource(kind));
        own.chain(kind.subresources.iter().map(|sub| subresource(kind, sub)))
    });
    ApiResourceList {
        kind: "APIResourceList",
        api_version: (!group.is_empty()).then_some("v1"),
        group_version: outrigger_apimachinery::GroupVersion::new(group, &version.name).to_string(),
        resources: resources.collect(),
    }
}

fn resource(kind: &Kind) -> ApiResource {
    ApiResource {
        name: kind.plural.clone(),
        singular_name: kind.singular.clone(),
        namespaced: kind.namespaced,
        group: None,
        version: None,
        kind: kind.kind.clone(),
        verbs: kind.verbs.clone(),
        short_names: kind.short_names.clone(),
        categories: kind.categories.clone(),
        storage_version_hash: kind.storage.hash.clone(),
    }
}

fn subresource(kind: &Kind, subresource: &Subresource) -> ApiResource {
    ApiResource {
        name: format!("{}/{}", kind.plural, subresource.name),
        singular_name: String::new(),
        namespaced: kind.namespaced,
        group: subresource.group_version.map(|(group, _)| group),
        version: subresource.group_version.map(|(_, version)| version),
        kind: subresource.kind.clone(),
        verbs: subresource.verbs.to_vec(),
        short_names: Vec::new(),
        categories: Vec::new(),
        storage_version_hash: String::new(),
    }
}
