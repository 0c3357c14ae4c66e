//! What others did to the objects of a release: taken away, or fields changed.
//!
//! The server says whose a field is. One that we applied and that somebody else changed is no longer ours, so nothing
//! has to be remembered and nothing is asked but the object itself.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::desired::Object;
use crate::error::Error;
use crate::fields;
use crate::id::{ObjectId, ReleaseId};
use crate::observe::objects_of;
use crate::ownership;
use crate::past::past;

/// Reads at a time.
const AT_ONCE: usize = 16;

/// What became of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    pub object: ObjectId,
    /// The fields that are not as we set them; none if the object is gone.
    pub fields: Vec<Taken>,
}

/// A field that somebody else changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    pub path: String,
    /// The manager that has it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Drift {
    pub fn is_missing(&self) -> bool {
        self.fields.is_empty()
    }
}

/// What became of an object that we applied; none if it is as we left it.
pub fn find(object: &Object, live: Option<&Value>) -> Option<Drift> {
    let drift = |fields| Drift {
        object: object.id().clone(),
        fields,
    };
    let Some(live) = live else {
        return Some(drift(Vec::new()));
    };
    let comparison = fields::compare(object.body(), live, Some(object.body()));
    let taken = comparison
        .not_ours
        .iter()
        .filter(|change| change.before != change.after);
    let taken: Vec<Taken> = taken
        .map(|change| Taken {
            path: change.path.clone(),
            by: fields::owner_of(live, &change.steps),
        })
        .collect();
    (!taken.is_empty()).then(|| drift(taken))
}

/// Reads all objects of the deployed revision and tells what became of them.
pub async fn look(cluster: &Cluster, id: &ReleaseId) -> Result<Vec<Drift>, Error> {
    let past = past(cluster, id).await?;
    let Some(deployed) = past.deployed() else {
        return Ok(Vec::new());
    };
    let kinds = cluster.kinds().await?;
    let objects = objects_of(deployed, &kinds).into_iter().map(|object| {
        let mut body = object.body().clone();
        ownership::stamp(&mut body, id);
        Object::new(object.id().clone(), body)
    });
    let reads = stream::iter(objects).map(|object| async move {
        let live = cluster.get(object.id()).await?;
        Ok::<_, Error>(find(&object, live.as_ref()))
    });
    let drifts: Vec<Option<Drift>> = reads.buffered(AT_ONCE).try_collect().await?;
    Ok(drifts.into_iter().flatten().collect())
}
