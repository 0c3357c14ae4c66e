//! Writes clusters and machines to the API server. Every write fails if the object has changed since it was read.

use kube::api::{Patch, PostParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::status::{FIELD_MANAGER, merge_patch, patch_params};

/// An object with a status and our finalizer.
pub(super) trait Object:
    Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>
    + Clone
    + DeserializeOwned
    + std::fmt::Debug
    + Serialize
{
    type Status: Serialize + PartialEq;
    const FINALIZER: &'static str;

    fn status(&self) -> Option<&Self::Status>;
}

impl Object for Cluster {
    type Status = outrigger_api::cluster::ClusterStatus;
    const FINALIZER: &'static str = outrigger_api::cluster::FINALIZER;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }
}

impl Object for Machine {
    type Status = outrigger_api::machine::MachineStatus;
    const FINALIZER: &'static str = outrigger_api::machine::FINALIZER;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }
}

/// Writes a status if it differs from that of the object. Returns the written object.
pub(super) async fn write_status<K: Object>(
    client: &Client,
    object: &K,
    status: &K::Status,
) -> Result<Option<K>, kube::Error> {
    if object.status() == Some(status) {
        return Ok(None);
    }
    let value = |status: &K::Status| serde_json::to_value(status).unwrap_or_default();
    let before = object.status().map_or_else(|| json!({}), value);
    let Some(change) = merge_patch(&before, &value(status)) else {
        return Ok(None);
    };
    let patch = json!({"metadata": precondition(object), "status": change});
    let api: Api<K> = Api::all(client.clone());
    let parameters = patch_params(FIELD_MANAGER);
    let (name, patch) = (object.name_any(), Patch::Merge(&patch));
    let written = api.patch_status(&name, &parameters, &patch).await;
    written.map(without_managed_fields).map(Some)
}

/// Adds or removes our finalizer. Returns the written object; `None` if there is nothing to do.
pub(super) async fn set_finalizer<K: Object>(
    client: &Client,
    object: &K,
    is_present: bool,
) -> Result<Option<K>, kube::Error> {
    let mut finalizers = object.finalizers().to_vec();
    if finalizers.iter().any(|name| name == K::FINALIZER) == is_present {
        return Ok(None);
    }
    finalizers.retain(|name| name != K::FINALIZER);
    if is_present {
        finalizers.push(K::FINALIZER.to_owned());
    }
    let mut metadata = precondition(object);
    metadata["finalizers"] = json!(finalizers);
    let patch = json!({"metadata": metadata});
    let api: Api<K> = Api::all(client.clone());
    let parameters = patch_params(FIELD_MANAGER);
    let (name, patch) = (object.name_any(), Patch::Merge(&patch));
    let written = api.patch(&name, &parameters, &patch).await;
    written.map(without_managed_fields).map(Some)
}

/// Replaces the spec of a machine.
pub(super) async fn write_spec(client: &Client, machine: &Machine) -> Result<Machine, kube::Error> {
    let api: Api<Machine> = Api::all(client.clone());
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let written = api.replace(&machine.name_any(), &parameters, machine).await;
    written.map(without_managed_fields)
}

fn precondition<K: Resource>(object: &K) -> Value {
    json!({"resourceVersion": object.meta().resource_version, "uid": object.meta().uid})
}

fn without_managed_fields<K: Resource>(mut object: K) -> K {
    object.meta_mut().managed_fields = None;
    object
}
