//! Objects of other systems as plugins: KubeGems' Plugin and Bundle, TKEStack's App.
//!
//! Conversions are pure and strict: a field that is not known, or that asks for what cannot be done, is an error that
//! names the field. The other direction is the status alone, in the words of the other system.

pub mod chart_annotations;
mod error;
mod fields;
mod foreign;
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
pub use foreign::Foreign;

/// The definitions of the other systems' kinds, for clusters that do not have them.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    let kinds = Foreign::ALL.iter();
    kinds.map(|kind| kind.definition()).collect()
}

/// Makes a plugin of an object: of ours as it is, of a known kind by conversion. None for objects of other kinds.
pub fn read(object: Value) -> Result<Option<Plugin>, Error> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if let Some(foreign) = Foreign::of(&api_version, &kind) {
        return foreign.convert(object).map(Some);
    }
    let ours = api_version == format!("{GROUP}/{VERSION}") && kind == "Plugin";
    if !ours {
        return Ok(None);
    }
    let plugin = serde_json::from_value(object).map_err(|source| Error::Ours { source })?;
    Ok(Some(plugin))
}
