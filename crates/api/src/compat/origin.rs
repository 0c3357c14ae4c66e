//! Carries a change of a mirrored plugin over to the object that it mirrors.

use kube::Resource;
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::{Error, ForeignKind, metadata, tkestack_cluster};
use crate::plugin::{Plugin, PluginSpec};

/// Label of plugins and clusters that mirror an object; its value is the resource of the object, such as
/// `apps.application.tkestack.io`.
pub const MIRRORS: &str = "outrigger.dev/mirrors";

/// The finalizer of plugins and clusters that mirror an object. A mirror that is deleted without its origin stays, and
/// nothing is uninstalled.
pub const ORIGIN_FINALIZER: &str = "outrigger.dev/origin";

/// Whether an object is deleted. A mirror is if its origin does not exist any longer.
pub fn is_deleted(object: &impl Resource) -> bool {
    let metadata = object.meta();
    let mut finalizers = metadata.finalizers.iter().flatten();
    metadata.deletion_timestamp.is_some() && !finalizers.any(|name| name == ORIGIN_FINALIZER)
}

/// The kind and the name of the object that a plugin or cluster mirrors.
pub fn origin_of(mirror: &impl Resource) -> Option<(ApiResource, String)> {
    let metadata = mirror.meta();
    let label = metadata.labels.as_ref()?.get(MIRRORS)?;
    let plugins = ForeignKind::ALL.iter().map(|kind| kind.resource());
    let mut resources = plugins.chain([tkestack_cluster::resource()]);
    let resource = resources.find(|it| format!("{}.{}", it.plural, it.group) == *label)?;
    let mut owners = metadata.owner_references.iter().flatten();
    let owner = owners
        .find(|owner| owner.kind == resource.kind && owner.api_version == resource.api_version)?;
    Some((resource, owner.name.clone()))
}

impl ForeignKind {
    /// The kind that a plugin mirrors.
    pub fn mirrored_by(plugin: &Plugin) -> Option<Self> {
        let label = plugin.metadata.labels.as_ref()?.get(MIRRORS)?;
        let mut all = Self::ALL.iter().copied();
        all.find(|kind| kind.label() == *label)
    }

    /// The value of [`MIRRORS`].
    pub fn label(self) -> String {
        let resource = self.resource();
        format!("{}.{}", resource.plural, resource.group)
    }

    /// Applies a change of the converted plugin to the object itself.
    pub fn change(self, object: &Value, change: impl FnOnce(&mut Plugin)) -> Result<Value, Error> {
        let before = self.convert(object.clone())?;
        let mut after = before.clone();
        change(&mut after);
        let mut object = object.clone();
        if before.spec.enabled != after.spec.enabled {
            self.set_enabled(&mut object, after.spec.enabled)?;
        }
        self.set_chart(&mut object, &before.spec, &after.spec);
        if before.spec.values != after.spec.values {
            self.set_values(&mut object, &after.spec);
        }
        metadata::change_annotations(&mut object, &before.metadata, &after.metadata);
        if self.convert(object.clone())?.spec == after.spec {
            Ok(object)
        } else {
            Err(self.unsupported("this change"))
        }
    }

    fn set_enabled(self, object: &mut Value, enabled: bool) -> Result<(), Error> {
        match self {
            Self::KubeGemsPlugin if object["spec"].get("enabled").is_some() => {
                object["spec"]["enabled"] = json!(enabled);
            }
            Self::KubeGemsPlugin | Self::KubeGemsBundle => {
                object["spec"]["disabled"] = json!(!enabled);
            }
            Self::TkestackApp => return Err(self.unsupported("disabling it")),
        }
        Ok(())
    }

    fn set_chart(self, object: &mut Value, before: &PluginSpec, after: &PluginSpec) {
        let spec = &mut object["spec"];
        let (version, repo, fields) = match self {
            Self::TkestackApp => ("chartVersion", "repoURL", &mut spec["chart"]),
            _ if spec.get("repo").is_some() => ("version", "repo", spec),
            _ => ("version", "url", spec),
        };
        let changes = [
            (version, &before.version, &after.version),
            (repo, &before.repo, &after.repo),
        ];
        for (name, before, after) in changes {
            match after {
                _ if before == after => {}
                Some(text) => fields[name] = json!(text),
                None => {
                    fields.as_object_mut().map(|fields| fields.remove(name));
                }
            }
        }
    }

    fn set_values(self, object: &mut Value, after: &PluginSpec) {
        let values = Value::Object(after.values.clone());
        object["spec"]["values"] = match self {
            Self::TkestackApp => json!({"rawValues": values.to_string(), "rawValuesType": "json"}),
            Self::KubeGemsPlugin | Self::KubeGemsBundle => values,
        };
    }

    fn unsupported(self, what: &str) -> Error {
        let kind = self.resource().kind;
        let group = self.resource().group;
        Error::Invalid {
            path: "spec".to_owned(),
            reason: format!("a {kind} of {group} does not support {what}"),
            hint: Some("edit the object with kubectl, or delete it and install a plugin instead"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubegems(spec: &Value) -> Value {
        json!({
            "apiVersion": "plugins.kubegems.io/v1beta1", "kind": "Plugin",
            "metadata": {"name": "web", "namespace": "default"}, "spec": spec,
        })
    }

    #[test]
    fn a_change_reaches_the_fields_of_each_format() {
        let change = |plugin: &mut Plugin| {
            plugin.spec.enabled = false;
            plugin.spec.version = Some("2".to_owned());
            plugin.spec.values.insert("a".to_owned(), json!(1));
        };
        let current = kubegems(&json!({"kind": "helm", "url": "https://x", "chart": "web"}));
        let changed = ForeignKind::KubeGemsPlugin
            .change(&current, change)
            .unwrap();
        assert_eq!(
            changed["spec"],
            json!({"kind": "helm", "url": "https://x", "chart": "web", "disabled": true, "version": "2", "values": {"a": 1}})
        );
        let legacy = kubegems(&json!({"enabled": true, "repo": "https://x", "name": "web"}));
        let changed = ForeignKind::KubeGemsPlugin.change(&legacy, change).unwrap();
        assert_eq!(
            changed["spec"],
            json!({"enabled": false, "repo": "https://x", "name": "web", "version": "2", "values": {"a": 1}})
        );
    }

    #[test]
    fn annotations_that_are_not_mirrored_stay_with_their_object() {
        let applied = "kubectl.kubernetes.io/last-applied-configuration";
        let mut object = kubegems(&json!({"enabled": true, "repo": "https://x", "name": "web"}));
        object["metadata"]["annotations"] = json!({applied: "{}", "a": "1"});
        let changed = ForeignKind::KubeGemsPlugin.change(&object, |plugin| {
            let annotations = plugin.metadata.annotations.as_mut().unwrap();
            annotations.remove("a");
            annotations.insert("b".to_owned(), "2".to_owned());
        });
        assert_eq!(
            changed.unwrap()["metadata"]["annotations"],
            json!({applied: "{}", "b": "2"})
        );
    }

    #[test]
    fn an_app_takes_versions_and_values_but_cannot_be_disabled() {
        let app = json!({
            "apiVersion": "application.tkestack.io/v1", "kind": "App",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"name": "web", "chart": {"chartGroupName": "stable", "chartName": "web", "chartVersion": "1"}},
        });
        let changed = ForeignKind::TkestackApp.change(&app, |plugin| {
            plugin.spec.version = Some("2".to_owned());
            plugin.spec.values.insert("a".to_owned(), json!(1));
        });
        let changed = changed.unwrap();
        assert_eq!(changed["spec"]["chart"]["chartVersion"], "2");
        assert_eq!(changed["spec"]["values"]["rawValues"], "{\"a\":1}");
        let disabled = ForeignKind::TkestackApp.change(&app, |plugin| plugin.spec.enabled = false);
        let message = disabled.unwrap_err().to_string();
        assert!(
            message.contains("does not support disabling it"),
            "{message}"
        );
        let retried = ForeignKind::TkestackApp.change(&app, |plugin| plugin.spec.retries = Some(1));
        assert!(retried.unwrap_err().to_string().contains("this change"));
    }
}
