//! Reads objects of our kinds, and converts those of other systems: KubeGems' Plugin and Bundle and TKEStack's App to
//! plugins, TKEStack's Cluster to a cluster.
//!
//! Conversions are pure and strict: an unknown field, or one that requests something unsupported, is an error that names
//! the field. In the other direction the status is converted, and changes that are made through the plugin.

pub mod chart_annotations;
mod comments;
mod error;
mod fields;
mod foreign_kind;
mod kubegems_bundle;
mod kubegems_plugin;
mod metadata;
mod origin;
mod status;
mod tkestack_app;
pub mod tkestack_cluster;
mod unknown_fields;

#[cfg(test)]
mod tests;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::machine::Machine;
use crate::plugin::Plugin;
use crate::{GROUP, VERSION};

pub use comments::strip_comments;
pub use error::Error;
pub use foreign_kind::ForeignKind;
pub use origin::{MIRRORS, ORIGIN_FINALIZER, is_deleted, origin_of};

/// The custom resource definitions of the foreign kinds that are mirrored, for clusters that do not have them.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    let kinds = ForeignKind::ALL.iter();
    let definitions = kinds.map(|kind| kind.definition());
    definitions
        .chain([tkestack_cluster::definition()])
        .collect()
}

/// Reads a plugin from an object of our kind or of a foreign kind. `None` for objects of other kinds.
pub fn read(object: Value) -> Result<Option<Plugin>, Error> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if let Some(foreign) = ForeignKind::of(&api_version, &kind) {
        return foreign.convert(object).map(Some);
    }
    let is_plugin = api_version == format!("{GROUP}/{VERSION}") && kind == "Plugin";
    if !is_plugin {
        return Ok(None);
    }
    unknown_fields::check(&object, &Plugin::crd())?;
    let plugin = serde_json::from_value(object).map_err(|source| Error::Deserialize { source })?;
    Ok(Some(plugin))
}

/// Reads a cluster from an object of our kind or of TKEStack's. `None` for objects of other kinds.
pub fn read_cluster(object: Value) -> Result<Option<Cluster>, Error> {
    let is_kind = |api_version: &str| {
        object["apiVersion"].as_str() == Some(api_version)
            && object["kind"].as_str() == Some("Cluster")
    };
    if is_kind(&tkestack_cluster::resource().api_version) {
        return tkestack_cluster::convert(object).map(Some);
    }
    let Some(mut cluster) = read_own::<Cluster>(object)? else {
        return Ok(None);
    };
    if cluster.metadata.name.is_none() {
        let prefix = cluster.metadata.generate_name;
        cluster.metadata.generate_name = prefix.or_else(|| Some("cls-".to_owned()));
    }
    Ok(Some(cluster))
}

/// Reads a machine. `None` for objects of other kinds.
pub fn read_machine(object: Value) -> Result<Option<Machine>, Error> {
    read_own(object)
}

fn read_own<K>(mut object: Value) -> Result<Option<K>, Error>
where
    K: kube::Resource<DynamicType = ()> + kube::CustomResourceExt + DeserializeOwned,
{
    let is_own = object["apiVersion"].as_str() == Some(&format!("{GROUP}/{VERSION}"));
    if !is_own || object["kind"].as_str() != Some(&K::kind(&())) {
        return Ok(None);
    }
    if object["metadata"].is_null() {
        object["metadata"] = serde_json::json!({});
    }
    unknown_fields::check(&object, &K::crd())?;
    let read = serde_json::from_value(object).map(Some);
    read.map_err(|source| Error::Deserialize { source })
}
