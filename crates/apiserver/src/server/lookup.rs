//! Admission's view of the store.

use std::sync::Arc;

use outrigger_admission::{
    BoundPolicy, ClusterState, MutatingPolicy, ParamKind, Priority, ValidatingPolicy,
};
use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::prepare::User;
use outrigger_cel::Authorizer;
use outrigger_store::{Resource, Scope};
use outrigger_structural::schema::Schema;
use serde_json::Value;

use super::State;
use crate::auth::UserInfo;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookup<'s>(pub(crate) &'s State);

impl Lookup<'_> {
    pub(crate) fn object(
        self,
        group: &str,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        let key = Resource::new(group, plural)
            .ok()?
            .key(namespace, name)
            .ok()?;
        let object = self.0.store.get(&key)?;
        serde_json::from_slice(object.bytes()).ok()
    }

    /// The first object of a resource that satisfies a predicate.
    fn find(self, group: &str, plural: &str, predicate: impl Fn(&Value) -> bool) -> Option<Value> {
        let scope = Scope::of(group, plural).ok()?;
        let snapshot = self.0.store.snapshot();
        snapshot.values(&scope).find(predicate)
    }

    /// The objects of a resource in a namespace, or outside of namespaces.
    fn list(self, group: &str, plural: &str, namespace: &str) -> Vec<Value> {
        let resource = Resource::new(group, plural).ok();
        let scope = resource.and_then(|resource| match namespace {
            "" => Some(Scope::resource(&resource)),
            namespace => Scope::namespace(&resource, namespace).ok(),
        });
        let Some(scope) = scope else {
            return Vec::new();
        };
        self.0.store.snapshot().values(&scope).collect()
    }

    fn default_class(self, group: &str, plural: &str, annotation: &str) -> Option<String> {
        let is_default = |class: &Value| class["metadata"]["annotations"][annotation] == "true";
        let class = self.find(group, plural, is_default)?;
        class["metadata"]["name"].as_str().map(str::to_owned)
    }
}

fn priority(class: &Value) -> Option<Priority> {
    Some(Priority {
        class: class["metadata"]["name"].as_str()?.to_owned(),
        value: class["value"].as_i64().unwrap_or_default(),
        preemption_policy: class["preemptionPolicy"]
            .as_str()
            .unwrap_or("PreemptLowerPriority")
            .to_owned(),
    })
}

impl ClusterState for Lookup<'_> {
    fn priority_class(&self, name: &str) -> Option<Priority> {
        let class = self.object("scheduling.k8s.io", "priorityclasses", "", name)?;
        priority(&class)
    }

    fn default_priority_class(&self) -> Option<Priority> {
        let is_default = |class: &Value| class["globalDefault"] == true;
        let class = self.find("scheduling.k8s.io", "priorityclasses", is_default)?;
        priority(&class)
    }

    fn service_account(&self, namespace: &str, name: &str) -> Option<Value> {
        self.object("", "serviceaccounts", namespace, name)
    }

    fn default_storage_class(&self) -> Option<String> {
        let annotation = "storageclass.kubernetes.io/is-default-class";
        self.default_class("storage.k8s.io", "storageclasses", annotation)
    }

    fn default_ingress_class(&self) -> Option<String> {
        let annotation = "ingressclass.kubernetes.io/is-default-class";
        self.default_class("networking.k8s.io", "ingressclasses", annotation)
    }

    fn runtime_class(&self, name: &str) -> Option<Value> {
        self.object("node.k8s.io", "runtimeclasses", "", name)
    }

    fn limit_ranges(&self, namespace: &str) -> Vec<Value> {
        self.list("", "limitranges", namespace)
    }

    fn resource_quotas(&self, namespace: &str) -> Vec<Value> {
        self.list("", "resourcequotas", namespace)
    }

    fn validating_policies(&self) -> Vec<BoundPolicy<ValidatingPolicy>> {
        self.0.policies.validating(&self.0.store)
    }

    fn mutating_policies(&self) -> Vec<BoundPolicy<MutatingPolicy>> {
        self.0.policies.mutating(&self.0.store)
    }

    fn schema(&self, kind: &Kind) -> Schema {
        let kinds = self.0.registry.snapshot();
        self.0.schemas.get(&kinds, kind, "").schema.clone()
    }

    fn namespace(&self, name: &str) -> Option<Value> {
        self.object("", "namespaces", "", name)
    }

    fn authorizer(&self, user: User<'_>) -> Arc<dyn Authorizer> {
        let user = UserInfo {
            name: user.name.to_owned(),
            uid: user.uid.to_owned(),
            groups: user.groups.to_vec(),
            ..UserInfo::default()
        };
        Arc::new(self.0.auth.checks_of(user))
    }

    fn is_namespaced(&self, kind: ParamKind<'_>) -> Option<bool> {
        let version = GroupVersion::parse(kind.api_version);
        let kinds = self.0.registry.snapshot();
        let kind = kinds.kind(version.group, version.version, kind.kind)?;
        Some(kind.namespaced)
    }

    fn params(&self, kind: ParamKind<'_>, namespace: &str) -> Vec<Value> {
        let version = GroupVersion::parse(kind.api_version);
        let kinds = self.0.registry.snapshot();
        let kind = kinds.kind(version.group, version.version, kind.kind);
        kind.map_or_else(Vec::new, |kind| {
            self.list(&kind.storage.group, &kind.plural, namespace)
        })
    }

    fn random_suffix(&self) -> Result<String, Status> {
        Ok(crate::verbs::random_suffix()?)
    }
}
