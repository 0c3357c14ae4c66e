//! What a server serves: where each kind is found, and what charts may rely on.

use std::collections::{BTreeSet, HashMap};

use kube::client::{APIGroupDiscovery, APIGroupDiscoveryList};
use kube::discovery::Scope;
use kube::{Client, Discovery};
use outrigger_chart::{Capabilities, KubeVersion, Profile};
use serde_json::Value;

use crate::error::Error;
use crate::id::ObjectId;

/// Where objects of a kind are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

/// All kinds of a server.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    /// By API version, then by kind.
    places: HashMap<String, HashMap<String, Place>>,
    capabilities: Capabilities,
}

impl Kinds {
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<&Place> {
        self.places.get(api_version)?.get(kind)
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The object with the namespace that it is in, none if its kind has none.
    pub(crate) fn resolve(&self, object: &ObjectId, namespace: &str) -> Option<ObjectId> {
        let place = self.find(&object.api_version, &object.kind)?;
        let namespace = place.namespaced.then(|| {
            let own = object.namespace.clone();
            own.unwrap_or_else(|| namespace.to_owned())
        });
        Some(ObjectId {
            namespace,
            ..object.clone()
        })
    }

    /// The same with the kinds that custom resource definitions will add once they are there.
    pub(crate) fn with_definitions<'a>(
        &self,
        definitions: impl IntoIterator<Item = &'a Value>,
    ) -> Self {
        let mut kinds = self.clone();
        for definition in definitions {
            kinds.define(definition);
        }
        kinds.capabilities.api_versions.sort_unstable();
        kinds.capabilities.api_versions.dedup();
        kinds
    }

    fn define(&mut self, definition: &Value) {
        let spec = &definition["spec"];
        let names = &spec["names"];
        let (Some(group), Some(kind), Some(plural)) = (
            spec["group"].as_str(),
            names["kind"].as_str(),
            names["plural"].as_str(),
        ) else {
            return;
        };
        let place = Place {
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
            let kinds = self.places.entry(api_version).or_default();
            kinds
                .entry(kind.to_owned())
                .or_insert_with(|| place.clone());
        }
    }
}

/// Asks a server for all that it serves: three requests, more if it is older than Kubernetes 1.26.
pub(crate) async fn discover(client: &Client) -> Result<Kinds, Error> {
    let (version, core, groups) = tokio::join!(
        client.apiserver_version(),
        client.list_core_api_versions_aggregated(),
        client.list_api_groups_aggregated(),
    );
    let version = version.map_err(Error::Discovery)?;
    let core = core.map_err(Error::Discovery)?;
    let groups = groups.map_err(Error::Discovery)?;
    let mut table = Table::default();
    if core.items.is_empty() {
        table.add_all(client).await?;
    } else {
        table.add_groups(core);
        table.add_groups(groups);
    }
    Ok(table.finish(kube_version(
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
struct Table {
    places: HashMap<String, HashMap<String, Place>>,
    versions: BTreeSet<String>,
}

impl Table {
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
                self.add(&api_version, kind, Place { plural, namespaced });
            }
        }
    }

    fn add(&mut self, api_version: &str, kind: String, place: Place) {
        if kind.is_empty() {
            return;
        }
        self.versions.insert(format!("{api_version}/{kind}"));
        let kinds = self.places.entry(api_version.to_owned()).or_default();
        kinds.entry(kind).or_insert(place);
    }

    /// The way for servers without aggregated discovery.
    async fn add_all(&mut self, client: &Client) -> Result<(), Error> {
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
                        Place { plural, namespaced },
                    );
                }
            }
        }
        Ok(())
    }

    fn finish(self, kube_version: KubeVersion) -> Kinds {
        Kinds {
            places: self.places,
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

    /// A few kinds that every server has.
    pub(crate) fn usual() -> Kinds {
        let mut table = Table::default();
        let rows = [
            ("v1", "ConfigMap", "configmaps", true),
            ("v1", "Secret", "secrets", true),
            ("v1", "Service", "services", true),
            ("v1", "Namespace", "namespaces", false),
            ("apps/v1", "Deployment", "deployments", true),
            ("batch/v1", "Job", "jobs", true),
        ];
        for (api_version, kind, plural, namespaced) in rows {
            table.versions.insert(api_version.to_owned());
            let place = Place {
                plural: plural.to_owned(),
                namespaced,
            };
            table.add(api_version, kind.to_owned(), place);
        }
        table.finish(kube_version("v1.36.4", "1", "36"))
    }

    #[test]
    fn a_definition_that_is_about_to_be_installed_counts() {
        let definition = json!({"spec": {
            "group": "example.com", "scope": "Cluster",
            "names": {"kind": "Boat", "plural": "boats"},
            "versions": [{"name": "v1", "served": true}, {"name": "v0", "served": false}],
        }});
        let kinds = usual().with_definitions([&definition]);
        let boat = ObjectId::of(&json!({
            "apiVersion": "example.com/v1", "kind": "Boat",
            "metadata": {"name": "proa", "namespace": "ignored"},
        }));
        assert_eq!(kinds.resolve(&boat, "shop").unwrap().namespace, None);
        assert!(kinds.find("example.com/v0", "Boat").is_none());
        let versions = &kinds.capabilities().api_versions;
        assert!(versions.contains(&"example.com/v1/Boat".to_owned()));
    }

    #[test]
    fn objects_get_the_namespace_of_the_release_unless_they_have_their_own_or_need_none() {
        let resolve = |kind: &str, namespace: Option<&str>| {
            let object = ObjectId {
                api_version: "v1".to_owned(),
                kind: kind.to_owned(),
                namespace: namespace.map(str::to_owned),
                name: "x".to_owned(),
            };
            usual().resolve(&object, "shop").unwrap().namespace
        };
        assert_eq!(resolve("Secret", None).as_deref(), Some("shop"));
        assert_eq!(resolve("Secret", Some("own")).as_deref(), Some("own"));
        assert_eq!(resolve("Namespace", Some("own")), None);
    }
}
