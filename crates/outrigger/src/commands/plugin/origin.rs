//! Plugins that mirror an object of KubeGems or TKEStack: changes are made to that object, which the mirror follows.

use anyhow::anyhow;
use kube::api::DynamicObject;
use kube::{Api, Client};
use outrigger_api::compat::ForeignKind;
use outrigger_api::plugin::Plugin;

use super::connect::explain;
use super::edit::parameters;
use crate::report::HintExt as _;

/// The object that a plugin mirrors.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    kind: ForeignKind,
    namespace: String,
    name: String,
}

impl Origin {
    /// `None` for plugins that mirror nothing.
    pub(super) fn of(plugin: &Plugin) -> Option<Self> {
        let kind = ForeignKind::mirrored_by(plugin)?;
        let owners = plugin.metadata.owner_references.as_ref()?;
        let resource = kind.resource();
        let owner = owners
            .iter()
            .find(|owner| owner.kind == resource.kind && owner.api_version == resource.api_version);
        Some(Self {
            kind,
            namespace: plugin.namespace().to_owned(),
            name: owner?.name.clone(),
        })
    }

    pub(super) fn api(&self, client: Client) -> Api<DynamicObject> {
        Api::namespaced_with(client, &self.namespace, &self.kind.resource())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Changes the object by changing the plugin that it converts to.
    pub(super) async fn edit(
        &self,
        client: Client,
        dry_run: bool,
        change: impl Fn(&mut Plugin) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let api = self.api(client);
        let object = api
            .get(&self.name)
            .await
            .map_err(|error| explain(&error, None))?;
        let mut value = serde_json::to_value(&object)?;
        let resource = self.kind.resource();
        value["apiVersion"] = resource.api_version.into();
        value["kind"] = resource.kind.into();
        let mut result = Ok(());
        let changed = self.kind.change(&value, |plugin| result = change(plugin));
        result?;
        let changed = changed.map_err(|error| {
            let hint = error.hint().unwrap_or_default();
            let error = anyhow!("{self} cannot be changed: {error}");
            Err::<(), _>(error).hint(hint).expect_err("it is an error")
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
        let resource = self.kind.resource();
        let (kind, group) = (resource.kind, resource.group);
        write!(f, "{kind}.{group} {}/{}", self.namespace, self.name)
    }
}
