//! Drift: objects of a release that others deleted, or whose fields others changed.
//!
//! Drift is detected by managed fields: a field that another manager changes leaves our set. So detection needs the live
//! object only.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::{CONCURRENT_REQUESTS, Cluster};
use crate::desired::Object;
use crate::error::Error;
use crate::history::load_history;
use crate::id::{ObjectId, ReleaseId};
use crate::managed_fields;
use crate::observe::objects_of;
use crate::ownership;

/// An object that drifted from its applied state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    pub object: ObjectId,
    /// The changed fields; empty if the object is missing.
    pub fields: Vec<DriftedField>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftedField {
    pub path: String,
    /// The field manager that owns it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
}

impl Drift {
    pub fn is_missing(&self) -> bool {
        self.fields.is_empty()
    }
}

/// Compares an applied object with the live one.
pub fn detect(object: &Object, live: Option<&Value>) -> Option<Drift> {
    let drift = |fields| Drift {
        object: object.id().clone(),
        fields,
    };
    let Some(live) = live else {
        return Some(drift(Vec::new()));
    };
    let comparison = managed_fields::compare(object.body(), live, Some(object.body()));
    let changed = comparison
        .unowned
        .iter()
        .filter(|change| change.before != change.after);
    let fields: Vec<DriftedField> = changed
        .map(|change| DriftedField {
            path: change.path.clone(),
            manager: managed_fields::other_manager(live, &change.fields_v1_path),
        })
        .collect();
    (!fields.is_empty()).then(|| drift(fields))
}

/// Reads all objects of the deployed revision and detects their drift.
pub async fn detect_in_release(cluster: &Cluster, id: &ReleaseId) -> Result<Vec<Drift>, Error> {
    let history = load_history(cluster, id).await?;
    let Some(deployed) = history.deployed() else {
        return Ok(Vec::new());
    };
    let resources = cluster.api_resources().await?;
    let objects = objects_of(deployed, &resources).into_iter().map(|object| {
        let mut body = object.body().clone();
        ownership::set_metadata(&mut body, id);
        Object::new(object.id().clone(), body)
    });
    let reads = stream::iter(objects).map(|object| async move {
        let live = cluster.get(object.id()).await?;
        Ok::<_, Error>(detect(&object, live.as_ref()))
    });
    let drifts: Vec<Option<Drift>> = reads.buffered(CONCURRENT_REQUESTS).try_collect().await?;
    Ok(drifts.into_iter().flatten().collect())
}
