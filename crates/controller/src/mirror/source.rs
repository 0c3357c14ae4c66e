//! The kinds that are mirrored, and what their objects become.

use std::fmt::Debug;

use kube::api::ApiResource;
use kube::{Api, Client, Resource};
use outrigger_api::cluster::Cluster;
use outrigger_api::compat::{Error, ForeignKind, tkestack_cluster};
use outrigger_api::plugin::Plugin;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind of another system.
pub(super) trait Source: Copy + Send + Sync + 'static {
    /// What its objects become.
    type Mirror: Resource<DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;

    fn resource(self) -> ApiResource;

    /// Converts an object. The result has no status.
    fn convert(self, object: Value) -> Result<Self::Mirror, Error>;

    /// The status of the object, in the format of its system.
    fn status(self, object: &Value, mirror: &Self::Mirror) -> Value;

    /// The status of an object that cannot be converted.
    fn rejected_status(self, object: &Value, error: &Error, now: &str) -> Value;

    /// The mirrors in a namespace; in the cluster if the namespace is empty.
    fn api(client: Client, namespace: &str) -> Api<Self::Mirror>;

    /// The value of the label that mirrors have.
    fn label(self) -> String {
        let resource = self.resource();
        format!("{}.{}", resource.plural, resource.group)
    }
}

impl Source for ForeignKind {
    type Mirror = Plugin;

    fn resource(self) -> ApiResource {
        Self::resource(self)
    }

    fn convert(self, object: Value) -> Result<Plugin, Error> {
        let mut plugin = Self::convert(self, object)?;
        plugin.status = None;
        Ok(plugin)
    }

    fn status(self, object: &Value, plugin: &Plugin) -> Value {
        Self::status(self, object, plugin)
    }

    fn rejected_status(self, object: &Value, error: &Error, now: &str) -> Value {
        Self::rejected_status(self, object, error, now)
    }

    fn api(client: Client, namespace: &str) -> Api<Plugin> {
        Api::namespaced(client, namespace)
    }
}

/// `platform.tkestack.io/v1 Cluster`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TkestackCluster;

impl Source for TkestackCluster {
    type Mirror = Cluster;

    fn resource(self) -> ApiResource {
        tkestack_cluster::resource()
    }

    fn convert(self, object: Value) -> Result<Cluster, Error> {
        tkestack_cluster::convert(object)
    }

    fn status(self, _: &Value, cluster: &Cluster) -> Value {
        tkestack_cluster::status(cluster)
    }

    fn rejected_status(self, _: &Value, error: &Error, _: &str) -> Value {
        tkestack_cluster::rejected_status(error)
    }

    fn api(client: Client, _: &str) -> Api<Cluster> {
        Api::all(client)
    }
}
