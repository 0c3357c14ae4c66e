//! Converts objects of other systems to plugins: KubeGems' Plugin and Bundle, TKEStack's App.
//!
//! Conversions are pure and strict: an unknown field, or one that requests something unsupported, is an error that names
//! the field. In the other direction only the status is converted.

pub mod chart_annotations;
mod error;
mod fields;
mod foreign_kind;
mod kubegems_bundle;
mod kubegems_plugin;
mod metadata;
mod status;
mod tkestack_app;

#[cfg(test)]
mod tests;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::plugin::Plugin;
use crate::{GROUP, VERSION};

pub use error::Error;
pub use foreign_kind::ForeignKind;

/// The custom resource definitions of the foreign kinds, for clusters that do not have them.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    let kinds = ForeignKind::ALL.iter();
    kinds.map(|kind| kind.definition()).collect()
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
    let plugin = serde_json::from_value(object).map_err(|source| Error::Deserialize { source })?;
    Ok(Some(plugin))
}
