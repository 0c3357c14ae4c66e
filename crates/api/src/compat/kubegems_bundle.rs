//! KubeGems' Bundle: the ancestor of the Plugin's later form, with the same fields.

use serde_json::Value;

use super::{Error, kubegems_plugin};
use crate::plugin::Plugin;

pub(super) fn convert(object: Value) -> Result<Plugin, Error> {
    kubegems_plugin::convert(object)
}
