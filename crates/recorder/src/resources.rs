//! The resources of kinds, from discovery, and custom resource definitions.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::server::Server;

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
    pub(crate) is_listable: bool,
}

/// Resources by `apiVersion` and `kind`.
#[derive(Debug)]
pub(crate) struct Resources(pub(crate) BTreeMap<(String, String), Resource>);

impl Resources {
    pub(crate) async fn discover(server: &Server) -> anyhow::Result<Self> {
        let mut versions = vec!["v1".to_owned()];
        let groups = server.get("/apis").await?.object()?;
        for group in items(&groups["groups"]) {
            let served = items(&group["versions"]);
            versions.extend(served.map(|version| text(&version["groupVersion"]).to_owned()));
        }
        let mut resources = BTreeMap::new();
        for version in versions {
            let list = server.get(&root(&version)).await?.object()?;
            for resource in items(&list["resources"]) {
                let name = text(&resource["name"]);
                if name.contains('/') {
                    continue;
                }
                let found = Resource {
                    plural: name.to_owned(),
                    is_namespaced: resource["namespaced"] == true,
                    is_listable: items(&resource["verbs"]).any(|verb| verb == "list"),
                };
                resources.insert((version.clone(), text(&resource["kind"]).to_owned()), found);
            }
        }
        Ok(Self(resources))
    }

    /// The path of the objects of a kind in a namespace, which counts only for namespaced kinds.
    pub(crate) fn collection(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> anyhow::Result<String> {
        let key = (api_version.to_owned(), kind.to_owned());
        let resource = self.0.get(&key);
        let resource =
            resource.with_context(|| format!("the server does not serve {api_version} {kind}"))?;
        let (root, plural) = (root(api_version), &resource.plural);
        Ok(if resource.is_namespaced {
            format!("{root}/namespaces/{namespace}/{plural}")
        } else {
            format!("{root}/{plural}")
        })
    }

    /// The path of the objects of an object's kind.
    pub(crate) fn collection_of(&self, object: &Value, namespace: &str) -> anyhow::Result<String> {
        self.collection(
            text(&object["apiVersion"]),
            text(&object["kind"]),
            namespace,
        )
    }
}

/// The path of a group version.
pub(crate) fn root(api_version: &str) -> String {
    if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    }
}

/// The items of an array; none of anything else.
pub(crate) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Creates a definition and waits until its names are accepted or rejected. Returns it with its status.
pub(crate) async fn create_definition(
    server: &Server,
    definition: &Value,
) -> anyhow::Result<Value> {
    server.create(DEFINITIONS, definition).await?;
    let path = format!("{DEFINITIONS}/{}", text(&definition["metadata"]["name"]));
    let answer = server.wait_for(&path, |answer| {
        let definition = answer.json().unwrap_or_default();
        let mut conditions = items(&definition["status"]["conditions"]);
        conditions.any(|condition| {
            let is = |type_: &str, status: &str| {
                condition["type"] == type_ && condition["status"] == status
            };
            is("Established", "True") || is("NamesAccepted", "False")
        })
    });
    answer.await?.json()
}

/// Waits until the server serves the resource of an established definition.
pub(crate) async fn wait_until_served(server: &Server, definition: &Value) -> anyhow::Result<()> {
    let spec = &definition["spec"];
    for version in items(&spec["versions"]).filter(|version| version["served"] == true) {
        let path = format!(
            "/apis/{}/{}/{}",
            text(&spec["group"]),
            text(&version["name"]),
            text(&spec["names"]["plural"])
        );
        server
            .wait_for(&path, |answer| answer.status.is_success())
            .await?;
    }
    Ok(())
}

/// A definition of a namespaced kind in `example.com`.
pub(crate) fn definition(kind: &str, versions: &Value) -> Value {
    let singular = kind.to_lowercase();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{singular}s.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{singular}s"), "singular": singular},
            "versions": versions,
        },
    })
}
