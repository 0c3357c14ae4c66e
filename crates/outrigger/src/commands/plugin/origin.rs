//! Plugins and clusters that mirror an object of KubeGems or TKEStack: changes are made to that object, which the mirror
//! follows.

use anyhow::anyhow;
use kube::api::{ApiResource, DeleteParams, DynamicObject};
use kube::{Api, Client, Resource};
use outrigger_api::compat;
use serde_json::Value;

use super::connect::explain;
use super::edit::parameters;
use crate::report::hinted;

/// The object that a plugin or cluster mirrors.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    resource: ApiResource,
    /// Empty for objects without a namespace.
    namespace: String,
    name: String,
}

impl Origin {
    /// `None` for objects that mirror nothing.
    pub(crate) fn of(mirror: &impl Resource) -> Option<Self> {
        let (resource, name) = compat::origin_of(mirror)?;
        let namespace = mirror.meta().namespace.clone().unwrap_or_default();
        Some(Self {
            resource,
            namespace,
            name,
        })
    }

    fn api(&self, client: Client) -> Api<DynamicObject> {
        if self.namespace.is_empty() {
            Api::all_with(client, &self.resource)
        } else {
            Api::namespaced_with(client, &self.namespace, &self.resource)
        }
    }

    /// Deletes the object, and thereby its mirror.
    pub(crate) async fn delete(
        &self,
        client: Client,
        parameters: &DeleteParams,
    ) -> Result<(), kube::Error> {
        let api = self.api(client);
        api.delete(&self.name, parameters).await.map(drop)
    }

    /// Changes the object. `change` returns what it becomes.
    pub(crate) async fn edit(
        &self,
        client: Client,
        dry_run: bool,
        change: impl Fn(&Value) -> anyhow::Result<Result<Value, compat::Error>>,
    ) -> anyhow::Result<()> {
        let api = self.api(client);
        let object = api
            .get(&self.name)
            .await
            .map_err(|error| explain(&error, None))?;
        let mut value = serde_json::to_value(&object)?;
        value["apiVersion"] = self.resource.api_version.clone().into();
        value["kind"] = self.resource.kind.clone().into();
        let changed = change(&value)?.map_err(|error| {
            let hint = error.hint();
            hinted(anyhow!("{self} cannot be changed: {error}"), hint)
        })?;
        if changed != value {
            let changed = serde_json::from_value(changed)?;
            let replaced = api
                .replace(&self.name, &parameters(dry_run), &changed)
                .await;
            replaced.map_err(|error| explain(&error, None))?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ApiResource { kind, group, .. } = &self.resource;
        let (namespace, name) = (&self.namespace, &self.name);
        if namespace.is_empty() {
            return write!(f, "{kind}.{group} {name}");
        }
        write!(f, "{kind}.{group} {namespace}/{name}")
    }
}
