//! What holds when a field is empty: the defaults that depend on other fields.

use super::{Dependency, Phase, Plugin};
use crate::condition::{Condition, Truth};

/// The key of a kubeconfig in its Secret.
const KUBECONFIG_KEY: &str = "kubeconfig";

/// How many revisions are kept if nothing is said.
const HISTORY: u32 = 10;

impl Plugin {
    /// Its name; empty if it has none yet.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its namespace; `default` if it is not said. The method of `kube::ResourceExt` does not say so much.
    pub fn namespace(&self) -> &str {
        let namespace = self.metadata.namespace.as_deref();
        namespace.unwrap_or("default")
    }

    /// The name of the release.
    pub fn release_name(&self) -> &str {
        text(self.spec.release_name.as_deref()).unwrap_or_else(|| self.name())
    }

    /// The namespace of the release.
    pub fn release_namespace(&self) -> &str {
        text(self.spec.install_namespace.as_deref()).unwrap_or_else(|| self.namespace())
    }

    /// The name of the chart.
    pub fn chart_name(&self) -> &str {
        text(self.spec.chart.as_deref()).unwrap_or_else(|| self.name())
    }

    /// How many revisions are kept.
    pub fn history_limit(&self) -> u32 {
        self.spec.history.unwrap_or(HISTORY)
    }

    /// The key of the kubeconfig in the Secret of its cluster.
    pub fn kubeconfig_key(&self) -> &str {
        let cluster = self.spec.cluster.as_ref();
        text(cluster.and_then(|cluster| cluster.key.as_deref())).unwrap_or(KUBECONFIG_KEY)
    }

    /// The namespace and name of a dependency.
    pub fn locate<'a>(&'a self, dependency: &'a Dependency) -> (&'a str, &'a str) {
        let namespace = text(dependency.namespace.as_deref());
        (
            namespace.unwrap_or_else(|| self.namespace()),
            &dependency.name,
        )
    }

    /// Whether it depends on the plugin with this namespace and name.
    pub fn depends_on(&self, namespace: &str, name: &str) -> bool {
        let mut dependencies = self.spec.dependencies.iter();
        dependencies.any(|dependency| self.locate(dependency) == (namespace, name))
    }

    /// Where it is in its life, as far as is known.
    pub fn phase(&self) -> Phase {
        self.status
            .as_ref()
            .map_or(Phase::Pending, |status| status.phase)
    }

    /// One of its conditions.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        let conditions = self.status.as_ref().map(|status| &status.conditions);
        conditions?.iter().find(|condition| condition.kind == kind)
    }

    /// Whether the controller has seen the object as it is now.
    pub fn is_observed(&self) -> bool {
        let status = self.status.as_ref();
        status.and_then(|status| status.observed_generation) == self.metadata.generation
    }

    /// Whether it is installed and healthy as it is asked for now.
    pub fn is_ready(&self) -> bool {
        let ready = self.condition("Ready");
        self.is_observed() && ready.is_some_and(|ready| ready.status == Truth::True)
    }

    /// Whether an annotation says `"true"`.
    pub fn is_marked(&self, annotation: &str) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations
            .and_then(|all| all.get(annotation))
            .is_some_and(|value| value == "true")
    }
}

/// Empty text stands for nothing.
fn text(field: Option<&str>) -> Option<&str> {
    field.filter(|text| !text.is_empty())
}
