//! KubeGems' Bundle, which has the fields of the current spec of KubeGems' Plugin.

use serde_json::Value;

use super::{Error, kubegems_plugin};
use crate::plugin::Plugin;

pub(super) fn convert(object: Value) -> Result<Plugin, Error> {
    kubegems_plugin::convert(object)
}
