//! The API resources that a server serves, from discovery.

use std::collections::{BTreeSet, HashMap};

use kube::client::{APIGroupDiscovery, APIGroupDiscoveryList};
use kube::discovery::Scope;
use kube::{Client, Discovery};
use outrigger_chart::{Capabilities, KubeVersion, Profile};
use serde_json::Value;

use crate::error::Error;
use crate::id::ObjectId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiResource {
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

/// All API resources of a server.
#[derive(Debug, Clone)]
pub(crate) struct ApiResources {
    /// By API version, then by kind.
    resources: HashMap<String, HashMap<String, ApiResource>>,
    capabilities: Capabilities,
}

impl ApiResources {
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<&ApiResource> {
        self.resources.get(api_version)?.get(kind)
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Sets the namespace of an object: none for cluster-scoped kinds, `default_namespace` if it has none.
    pub(crate) fn resolve(&self, object: &ObjectId, default_namespace: &str) -> Option<ObjectId> {
        let resource = self.find(&object.api_version, &object.kind)?;
        let namespace = resource.namespaced.then(|| {
            let own = object.namespace.clone();
            own.unwrap_or_else(|| default_namespace.to_owned())
        });
        Some(ObjectId {
            namespace,
            ..object.clone()
        })
    }

    /// Adds the API resources that these CRDs define.
    pub(crate) fn with_crds<'a>(&self, crds: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut resources = self.clone();
        for crd in crds {
            resources.add_crd(crd);
        }
        resources.capabilities.api_versions.sort_unstable();
        resources.capabilities.api_versions.dedup();
        resources
    }

    fn add_crd(&mut self, crd: &Value) {
        let spec = &crd["spec"];
        let names = &spec["names"];
        let (Some(group), Some(kind), Some(plural)) = (
            spec["group"].as_str(),
            names["kind"].as_str(),
            names["plural"].as_str(),
        ) else {
            return;
        };
        let resource = ApiResource {
            plural: plural.to_owned(),
            namespaced: spec["scope"].as_str() != Some("Cluster"),
        };
        let versions = spec["versions"].as_array().map(Vec::as_slice);
        for version in versions.unwrap_or_default() {
            let (Some(name), Some(true)) = (version["name"].as_str(), version["served"].as_bool())
            else {
                continue;
            };
            let api_version = format!("{group}/{name}");
            let versions = &mut self.capabilities.api_versions;
            versions.push(format!("{api_version}/{kind}"));
            versions.push(api_version.clone());
            let kinds = self.resources.entry(api_version).or_default();
            kinds
                .entry(kind.to_owned())
                .or_insert_with(|| resource.clone());
        }
    }
}

/// Discovers all API resources: three requests, more for servers before Kubernetes 1.26.
pub(crate) async fn discover(client: &Client) -> Result<ApiResources, Error> {
    let (version, core, groups) = tokio::join!(
        client.apiserver_version(),
        client.list_core_api_versions_aggregated(),
        client.list_api_groups_aggregated(),
    );
    let version = version.map_err(Error::Discovery)?;
    let core = core.map_err(Error::Discovery)?;
    let groups = groups.map_err(Error::Discovery)?;
    let mut builder = Builder::default();
    if core.items.is_empty() {
        builder.add_unaggregated(client).await?;
    } else {
        builder.add_groups(core);
        builder.add_groups(groups);
    }
    Ok(builder.finish(kube_version(
        &version.git_version,
        &version.major,
        &version.minor,
    )))
}

fn kube_version(git_version: &str, major: &str, minor: &str) -> KubeVersion {
    match KubeVersion::parse(git_version, Profile::Helm4) {
        Ok(parsed) => KubeVersion {
            major: major.to_owned(),
            minor: minor.to_owned(),
            ..parsed
        },
        Err(_) => KubeVersion {
            version: git_version.to_owned(),
            normalized: format!("v{major}.{minor}.0"),
            major: major.to_owned(),
            minor: minor.to_owned(),
        },
    }
}

#[derive(Default)]
struct Builder {
    resources: HashMap<String, HashMap<String, ApiResource>>,
    versions: BTreeSet<String>,
}

impl Builder {
    fn add_groups(&mut self, list: APIGroupDiscoveryList) {
        for group in list.items {
            self.add_group(group);
        }
    }

    fn add_group(&mut self, group: APIGroupDiscovery) {
        let name = group.metadata.and_then(|metadata| metadata.name);
        let name = name.unwrap_or_default();
        for version in group.versions {
            let number = version.version.unwrap_or_default();
            let api_version = match name.as_str() {
                "" => number,
                name => format!("{name}/{number}"),
            };
            self.versions.insert(api_version.clone());
            for resource in version.resources {
                for subresource in resource.subresources {
                    if let Some(kind) = subresource.response_kind.and_then(|kind| kind.kind) {
                        self.versions.insert(format!("{api_version}/{kind}"));
                    }
                }
                let kind = resource.response_kind.and_then(|kind| kind.kind);
                let (Some(kind), Some(plural)) = (kind, resource.resource) else {
                    continue;
                };
                let namespaced = resource.scope.as_deref() == Some("Namespaced");
                self.add(&api_version, kind, ApiResource { plural, namespaced });
            }
        }
    }

    fn add(&mut self, api_version: &str, kind: String, resource: ApiResource) {
        if kind.is_empty() {
            return;
        }
        self.versions.insert(format!("{api_version}/{kind}"));
        let kinds = self.resources.entry(api_version.to_owned()).or_default();
        kinds.entry(kind).or_insert(resource);
    }

    /// For servers without aggregated discovery.
    async fn add_unaggregated(&mut self, client: &Client) -> Result<(), Error> {
        let discovery = Discovery::new(client.clone()).run().await;
        for group in discovery.map_err(Error::Discovery)?.groups() {
            for version in group.versions() {
                for (resource, capabilities) in group.versioned_resources(version) {
                    self.versions.insert(resource.api_version.clone());
                    let namespaced = capabilities.scope == Scope::Namespaced;
                    let plural = resource.plural;
                    self.add(
                        &resource.api_version,
                        resource.kind,
                        ApiResource { plural, namespaced },
                    );
                }
            }
        }
        Ok(())
    }

    fn finish(self, kube_version: KubeVersion) -> ApiResources {
        ApiResources {
            resources: self.resources,
            capabilities: Capabilities {
                kube_version,
                api_versions: self.versions.into_iter().collect(),
            },
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A few kinds that every server serves.
    pub(crate) fn api_resources_for_tests() -> ApiResources {
        let mut builder = Builder::default();
        let rows = [
            ("v1", "ConfigMap", "configmaps", true),
            ("v1", "Secret", "secrets", true),
            ("v1", "Service", "services", true),
            ("v1", "Namespace", "namespaces", false),
            ("apps/v1", "Deployment", "deployments", true),
            ("batch/v1", "Job", "jobs", true),
        ];
        for (api_version, kind, plural, namespaced) in rows {
            builder.versions.insert(api_version.to_owned());
            let resource = ApiResource {
                plural: plural.to_owned(),
                namespaced,
            };
            builder.add(api_version, kind.to_owned(), resource);
        }
        builder.finish(kube_version("v1.36.4", "1", "36"))
    }

    #[test]
    fn the_kinds_of_a_crd_count_before_it_is_installed() {
        let crd = json!({"spec": {
            "group": "example.com", "scope": "Cluster",
            "names": {"kind": "Boat", "plural": "boats"},
            "versions": [{"name": "v1", "served": true}, {"name": "v0", "served": false}],
        }});
        let resources = api_resources_for_tests().with_crds([&crd]);
        let boat = ObjectId::of(&json!({
            "apiVersion": "example.com/v1", "kind": "Boat",
            "metadata": {"name": "proa", "namespace": "ignored"},
        }));
        assert_eq!(resources.resolve(&boat, "shop").unwrap().namespace, None);
        assert!(resources.find("example.com/v0", "Boat").is_none());
        let versions = &resources.capabilities().api_versions;
        assert!(versions.contains(&"example.com/v1/Boat".to_owned()));
    }

    #[test]
    fn only_namespaced_objects_without_a_namespace_get_the_default_namespace() {
        let resolve = |kind: &str, namespace: Option<&str>| {
            let object = ObjectId {
                api_version: "v1".to_owned(),
                kind: kind.to_owned(),
                namespace: namespace.map(str::to_owned),
                name: "x".to_owned(),
            };
            let resources = api_resources_for_tests();
            resources.resolve(&object, "shop").unwrap().namespace
        };
        assert_eq!(resolve("Secret", None).as_deref(), Some("shop"));
        assert_eq!(resolve("Secret", Some("own")).as_deref(), Some("own"));
        assert_eq!(resolve("Namespace", Some("own")), None);
    }
}
