//! Defaults that depend on other fields, and accessors of the status.

use std::fmt;

use super::{ClusterReference, Dependency, Phase, Plugin};
use crate::cluster::KUBECONFIG_KEY;
use crate::condition::{Condition, ConditionStatus};

const HISTORY_LIMIT: u32 = 10;

impl Plugin {
    /// The name, or the empty string if it is not set.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The namespace, or `default` if it is not set, unlike `kube::ResourceExt::namespace`.
    pub fn namespace(&self) -> &str {
        let namespace = self.metadata.namespace.as_deref();
        namespace.unwrap_or("default")
    }

    pub fn release_name(&self) -> &str {
        non_empty(self.spec.release_name.as_deref()).unwrap_or_else(|| self.name())
    }

    pub fn release_namespace(&self) -> &str {
        non_empty(self.spec.install_namespace.as_deref()).unwrap_or_else(|| self.namespace())
    }

    /// Whether the plugin is in the namespace of its release.
    pub fn is_in_release_namespace(&self) -> bool {
        self.spec.cluster.is_none() && self.release_namespace() == self.namespace()
    }

    pub fn chart_name(&self) -> &str {
        non_empty(self.spec.chart.as_deref()).unwrap_or_else(|| self.name())
    }

    /// The number of revisions to keep.
    pub fn history_limit(&self) -> u32 {
        self.spec.history.unwrap_or(HISTORY_LIMIT)
    }

    /// The key of the kubeconfig in the Secret of its cluster.
    pub fn kubeconfig_key(&self) -> &str {
        let cluster = self.spec.cluster.as_ref();
        non_empty(cluster.and_then(|cluster| cluster.key.as_deref())).unwrap_or(KUBECONFIG_KEY)
    }

    /// The namespace and name of a dependency.
    pub fn resolve_dependency<'a>(&'a self, dependency: &'a Dependency) -> (&'a str, &'a str) {
        let namespace = non_empty(dependency.namespace.as_deref());
        (
            namespace.unwrap_or_else(|| self.namespace()),
            &dependency.name,
        )
    }

    /// Whether it depends on the plugin with this namespace and name.
    pub fn depends_on(&self, namespace: &str, name: &str) -> bool {
        let mut dependencies = self.spec.dependencies.iter();
        dependencies.any(|dependency| self.resolve_dependency(dependency) == (namespace, name))
    }

    /// The phase, or Pending if there is no status yet.
    pub fn phase(&self) -> Phase {
        self.status
            .as_ref()
            .map_or(Phase::Pending, |status| status.phase)
    }

    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        let conditions = self.status.as_ref().map(|status| &status.conditions);
        conditions?.iter().find(|condition| condition.kind == kind)
    }

    /// Whether the controller has observed the current generation.
    pub fn is_observed(&self) -> bool {
        let status = self.status.as_ref();
        status.and_then(|status| status.observed_generation) == self.metadata.generation
    }

    /// Whether the current generation is installed and healthy.
    pub fn is_ready(&self) -> bool {
        let ready = self.condition("Ready");
        self.is_observed() && ready.is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// Whether an annotation is `"true"`.
    pub fn is_annotated(&self, annotation: &str) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations
            .and_then(|all| all.get(annotation))
            .is_some_and(|value| value == "true")
    }
}

impl ClusterReference {
    /// The Secret with the kubeconfig; `None` if it names a Cluster.
    pub fn secret(&self) -> Option<&str> {
        match non_empty(self.name.as_deref()) {
            Some(_) => None,
            None => non_empty(self.secret_name.as_deref()),
        }
    }
}

impl fmt::Display for ClusterReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.secret() {
            Some(secret) => write!(f, "Secret {secret}"),
            None => write!(f, "cluster {}", self.name.as_deref().unwrap_or_default()),
        }
    }
}

/// The empty string means unset.
fn non_empty(field: Option<&str>) -> Option<&str> {
    field.filter(|text| !text.is_empty())
}
