//! Changes a cluster by a merge patch.

use kube::api::{Patch, PatchParams};
use serde_json::Value;

use super::{clusters, explain};
use crate::commands::plugin::connect::Connection;

pub(super) async fn patch(
    connection: &Connection,
    name: &str,
    patch: &Value,
) -> anyhow::Result<()> {
    let parameters = PatchParams {
        field_manager: Some("outrigger".to_owned()),
        ..PatchParams::default()
    };
    let patched = clusters(connection)
        .patch(name, &parameters, &Patch::Merge(patch))
        .await;
    patched
        .map(drop)
        .map_err(|error| explain(&error, Some(name)))
}
