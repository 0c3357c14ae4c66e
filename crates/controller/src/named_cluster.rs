//! Clusters that plugins target by name: which plugins may, whether there is a kubeconfig yet, and what the plugins are
//! deleted with. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource as _, ResourceExt as _};
use outrigger_api::cluster::{ALL_NAMESPACES, Cluster, ClusterPhase};
use outrigger_api::plugin::{Plugin, PluginStatus};
use outrigger_api::reason::Reason;
use outrigger_api::repository::SecretReference;

use crate::conditions::Cause;
use crate::release_ref::ClusterRef;

/// Why a plugin cannot use the cluster that it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error("cluster {0} does not exist")]
    NotFound(String),
    #[error("cluster {0} is being deleted")]
    Deleted(String),
    #[error("waiting for cluster {name} to {awaited}: it is {phase:?}")]
    NotReady {
        name: String,
        awaited: &'static str,
        phase: ClusterPhase,
    },
    #[error(
        "cluster {name} does not allow plugins of namespace {namespace}: add it to spec.pluginNamespaces of the cluster"
    )]
    NotAllowed { name: String, namespace: String },
}

impl Unavailable {
    /// Whether releases in the cluster can no longer be uninstalled.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::NotFound(_) | Self::Deleted(_))
    }

    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::NotAllowed { .. })
    }

    pub(crate) fn cause(&self) -> Cause {
        let reason = match self {
            Self::NotFound(_) => Reason::ClusterMissing,
            Self::Deleted(_) | Self::NotReady { .. } => Reason::ClusterNotReady,
            Self::NotAllowed { .. } => Reason::ClusterNotAllowed,
        };
        Cause::new(reason, self.to_string())
    }
}

/// The part of a Cluster that the plugins depend on which target it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedCluster {
    name: String,
    owner: Option<OwnerReference>,
    is_deleted: bool,
    /// The Secret with the kubeconfig, or what is awaited.
    kubeconfig: Result<SecretReference, Unavailable>,
    plugin_namespaces: Vec<String>,
}

impl NamedCluster {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let status = cluster.status.as_ref();
        let is_created = status.is_some_and(|status| status.version.is_some());
        let kubeconfig = cluster.kubeconfig_secret_ref().filter(|_| is_created);
        let awaited = || Unavailable::NotReady {
            name: cluster.name_any(),
            awaited: if is_created {
                "have a kubeconfig"
            } else {
                "be created"
            },
            phase: status.map(|status| status.phase).unwrap_or_default(),
        };
        Self {
            name: cluster.name_any(),
            owner: cluster.owner_ref(&()),
            is_deleted: cluster.metadata.deletion_timestamp.is_some(),
            kubeconfig: kubeconfig.cloned().ok_or_else(awaited),
            plugin_namespaces: cluster.spec.plugin_namespaces.clone(),
        }
    }

    /// The Secret with the kubeconfig, if there is one yet.
    pub(crate) fn kubeconfig(&self) -> Result<&SecretReference, Unavailable> {
        if self.is_deleted {
            return Err(Unavailable::Deleted(self.name.clone()));
        }
        self.kubeconfig.as_ref().map_err(Clone::clone)
    }

    /// Whether plugins of a namespace may target the cluster. Until there is a kubeconfig, its namespace is not known, and
    /// only those that are not listed are refused.
    fn allows(&self, namespace: &str) -> bool {
        let mut listed = self.plugin_namespaces.iter();
        if self.plugin_namespaces.is_empty() {
            let kubeconfig = self.kubeconfig.as_ref();
            return kubeconfig.map_or(true, |secret| secret.namespace == namespace);
        }
        listed.any(|listed| listed == ALL_NAMESPACES || listed == namespace)
    }

    /// The Secret with the kubeconfig, for plugins of a namespace.
    fn kubeconfig_for(&self, namespace: &str) -> Result<&SecretReference, Unavailable> {
        if !self.is_deleted && !self.allows(namespace) {
            return Err(Unavailable::NotAllowed {
                name: self.name.clone(),
                namespace: namespace.to_owned(),
            });
        }
        self.kubeconfig()
    }
}

/// The Secret with the kubeconfig of the cluster `name`, for plugins of a namespace.
pub(crate) fn kubeconfig<'a>(
    cluster: Option<&'a NamedCluster>,
    name: &str,
    namespace: &str,
) -> Result<&'a SecretReference, Unavailable> {
    let cluster = cluster.ok_or_else(|| Unavailable::NotFound(name.to_owned()))?;
    cluster.kubeconfig_for(namespace)
}

/// The owner references that a plugin is to have, if it has others: it is deleted with the Cluster that it targets by name.
/// References to Clusters belong to the controller. One to an earlier Cluster of the same name stays: the garbage collector
/// deletes the plugin, as the rest of what that Cluster owned.
pub(crate) fn changed_owners(
    plugin: &Plugin,
    status: &PluginStatus,
    cluster: Option<&NamedCluster>,
) -> Option<Vec<OwnerReference>> {
    let is_elsewhere = status.kind.is_some() && status.cluster != plugin.spec.cluster;
    if is_elsewhere || plugin.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let name = match ClusterRef::of(plugin) {
        ClusterRef::Named(name) => Some(name),
        _ => None,
    };
    let mut owners = plugin.owner_references().to_vec();
    owners.retain(|owner| !is_cluster(owner) || Some(&owner.name) == name.as_ref());
    let allowed =
        cluster.filter(|cluster| !cluster.is_deleted && cluster.allows(plugin.namespace()));
    if !owners.iter().any(is_cluster) {
        owners.extend(allowed.and_then(|cluster| cluster.owner.clone()));
    }
    (owners != plugin.owner_references()).then_some(owners)
}

fn is_cluster(owner: &OwnerReference) -> bool {
    owner.kind == "Cluster" && owner.api_version.starts_with("outrigger.dev/")
}

#[cfg(test)]
mod tests {
    use outrigger_api::plugin::{ClusterReference, PluginKind, PluginSpec};
    use serde_json::{Value, json};

    use super::*;

    fn cluster(spec: &Value, status: &Value) -> NamedCluster {
        let object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "site", "uid": "1"},
            "spec": spec, "status": status,
        });
        NamedCluster::of(&serde_json::from_value(object).unwrap())
    }

    fn running(namespaces: &[&str]) -> NamedCluster {
        let secret = json!({"name": "site-kubeconfig", "namespace": "system"});
        let status =
            json!({"phase": "Running", "version": "1.34.1", "kubeconfigSecretRef": secret});
        cluster(&json!({"pluginNamespaces": namespaces}), &status)
    }

    fn plugin(cluster: Option<&str>) -> Plugin {
        let cluster = cluster.map(|name| ClusterReference {
            name: Some(name.to_owned()),
            ..ClusterReference::default()
        });
        let spec = PluginSpec {
            cluster,
            ..PluginSpec::default()
        };
        let mut plugin = Plugin::new("web", spec);
        plugin.metadata.namespace = Some("system".to_owned());
        plugin
    }

    #[track_caller]
    fn check(cluster: Option<&NamedCluster>, namespace: &str, expected: &str) {
        let text = match kubeconfig(cluster, "site", namespace) {
            Ok(secret) => format!("{}/{}", secret.namespace, secret.name),
            Err(unavailable) => unavailable.to_string(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn only_allowed_namespaces_get_the_kubeconfig() {
        let secret = "system/site-kubeconfig";
        let refused = |namespace: &str| {
            format!(
                "cluster site does not allow plugins of namespace {namespace}: add it to spec.pluginNamespaces of the cluster"
            )
        };
        check(Some(&running(&[])), "system", secret);
        check(Some(&running(&[])), "shop", &refused("shop"));
        check(Some(&running(&["shop", "web"])), "shop", secret);
        check(Some(&running(&["shop"])), "system", &refused("system"));
        check(Some(&running(&["*"])), "any", secret);
    }

    #[test]
    fn what_is_awaited_is_named() {
        check(None, "system", "cluster site does not exist");
        let initializing = json!({"phase": "Initializing"});
        let text = "waiting for cluster site to be created: it is Initializing";
        check(Some(&cluster(&json!({}), &initializing)), "any", text);
        let imported =
            json!({"type": "Imported", "kubeconfigSecretRef": {"name": "a", "namespace": "b"}});
        let text = "waiting for cluster site to be created: it is Pending";
        check(Some(&cluster(&imported, &Value::Null)), "b", text);
        let listed = cluster(&json!({"pluginNamespaces": ["shop"]}), &initializing);
        let text = "cluster site does not allow plugins of namespace any: add it to spec.pluginNamespaces of the cluster";
        check(Some(&listed), "any", text);
        let stand_in = cluster(&json!({}), &json!({"phase": "Running", "version": "1"}));
        let text = "waiting for cluster site to have a kubeconfig: it is Running";
        check(Some(&stand_in), "any", text);
        let mut deleted = running(&[]);
        deleted.is_deleted = true;
        check(Some(&deleted), "shop", "cluster site is being deleted");
    }

    fn changed(plugin: &Plugin, cluster: Option<&NamedCluster>) -> Option<Vec<OwnerReference>> {
        let status = plugin.status.clone().unwrap_or_default();
        changed_owners(plugin, &status, cluster)
    }

    #[test]
    fn a_plugin_is_owned_by_the_cluster_that_it_targets() {
        let site = running(&[]);
        let owned = changed(&plugin(Some("site")), Some(&site)).unwrap();
        assert_eq!((&*owned[0].kind, &*owned[0].uid), ("Cluster", "1"));
        let mut target = plugin(Some("site"));
        target.metadata.owner_references = Some(owned);
        assert_eq!(changed(&target, Some(&site)), None);
        assert_eq!(changed(&target, None), None);
        // Another target.
        target.spec.cluster = None;
        assert_eq!(changed(&target, None), Some(Vec::new()));
        target.spec.cluster = plugin(Some("other")).spec.cluster;
        assert_eq!(changed(&target, None), Some(Vec::new()));
        // The change is refused as long as it is installed.
        target.status = Some(PluginStatus {
            kind: Some(PluginKind::Helm),
            cluster: plugin(Some("site")).spec.cluster,
            ..PluginStatus::default()
        });
        assert_eq!(changed(&target, None), None);
    }

    #[test]
    fn a_plugin_is_not_owned_by_a_cluster_that_is_deleted_or_refuses_it() {
        let mut deleted = running(&[]);
        deleted.is_deleted = true;
        for cluster in [deleted, running(&["shop"])] {
            assert_eq!(changed(&plugin(Some("site")), Some(&cluster)), None);
        }
    }
}
