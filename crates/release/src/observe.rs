//! Observes the live objects of a release, the desired ones and those in its records. One read per object.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::cluster::{ApiResources, CONCURRENT_REQUESTS, Cluster};
use crate::desired::{Desired, Object, parse_objects};
use crate::error::Error;
use crate::history::History;
use crate::id::{ObjectId, ObjectKey, ReleaseId};
use crate::ownership;
use crate::record::{Record, hook};
use crate::storage;

#[derive(Clone)]
pub struct Observed {
    pub(crate) history: History,
    pub(crate) live: HashMap<ObjectKey, Value>,
    /// The objects of each record of the history.
    pub(crate) recorded: Vec<Vec<Object>>,
    /// Other releases that replace CRDs of this one.
    pub(crate) replacing: BTreeSet<ReleaseId>,
    /// Namespaces of desired objects that neither exist nor are part of the release.
    pub(crate) missing_namespaces: BTreeSet<String>,
}

/// Omits objects, which may be Secrets.
impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("history", &self.history)
            .field("live", &self.live.len())
            .finish_non_exhaustive()
    }
}

/// Reads all desired objects, and all objects in the records of the history.
pub async fn observe(
    cluster: &Cluster,
    history: History,
    desired: &Desired,
) -> Result<Observed, Error> {
    let resources = cluster.api_resources().await?;
    let recorded: Vec<Vec<Object>> = history
        .records()
        .iter()
        .map(|record| objects_of(record, &resources))
        .collect();
    // Objects in records probably exist, other desired objects probably do not.
    let mut ids: HashMap<ObjectKey, (ObjectId, bool)> = HashMap::new();
    for object in desired.objects() {
        ids.insert(object.id().key(), (object.id().clone(), false));
    }
    let recorded_ids = recorded.iter().flatten().map(Object::id);
    let crds = desired.crds().iter().map(Object::id);
    for id in recorded_ids.chain(crds) {
        ids.insert(id.key(), (id.clone(), true));
    }
    let reads = stream::iter(ids).map(|(key, (id, probably_exists))| async move {
        let object = if probably_exists {
            cluster.get(&id).await?
        } else {
            cluster.get_probably_absent(&id).await?
        };
        Ok::<_, Error>(object.map(|object| (key, object)))
    });
    let reads = reads.buffer_unordered(CONCURRENT_REQUESTS);
    let live: Vec<Option<(ObjectKey, Value)>> = reads.try_collect().await?;
    let live = live.into_iter().flatten().collect();
    let missing_namespaces = missing_namespaces(cluster, desired, &live).await?;
    let replacing = replacing_releases(cluster, desired, &live).await?;
    Ok(Observed {
        history,
        live,
        recorded,
        replacing,
        missing_namespaces,
    })
}

/// The other releases that replace the live CRDs, if they still exist.
async fn replacing_releases(
    cluster: &Cluster,
    desired: &Desired,
    live: &HashMap<ObjectKey, Value>,
) -> Result<BTreeSet<ReleaseId>, Error> {
    let mut replacing = BTreeSet::new();
    for crd in desired.crds() {
        let owner = live.get(&crd.id().key()).and_then(ownership::crd_owner);
        let Some((namespace, name)) = owner.and_then(|owner| owner.split_once('/')) else {
            continue;
        };
        let owner = ReleaseId::new(namespace, name);
        if owner == *desired.id() || replacing.contains(&owner) {
            continue;
        }
        if !storage::list_revisions(cluster, &owner).await?.is_empty() {
            replacing.insert(owner);
        }
    }
    Ok(replacing)
}

/// The missing namespaces of new objects. The namespace of the release is not checked: creating the first record reports
/// it, and may create it. Pre-hooks may create any namespace.
async fn missing_namespaces(
    cluster: &Cluster,
    desired: &Desired,
    live: &HashMap<ObjectKey, Value>,
) -> Result<BTreeSet<String>, Error> {
    let before = desired.action.hooks().map(|(before, _)| before);
    if before.is_some_and(|event| !hook::execution_order(desired.hooks(), event).is_empty()) {
        return Ok(BTreeSet::new());
    }
    let new = desired.objects().iter().map(Object::id);
    let new = new.filter(|id| !live.contains_key(&id.key()));
    let namespace = |name: &str| ObjectId {
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        namespace: None,
        name: name.to_owned(),
    };
    let is_desired = |id: &ObjectId| desired.objects().iter().any(|object| object.id() == id);
    let names: BTreeSet<&str> = new.filter_map(|id| id.namespace.as_deref()).collect();
    let mut missing = BTreeSet::new();
    for name in names {
        let id = namespace(name);
        if name == desired.id().namespace || is_desired(&id) {
            continue;
        }
        match cluster.get(&id).await {
            Ok(None) => {
                missing.insert(name.to_owned());
            }
            Ok(Some(_)) => {}
            // Without permission to read namespaces, the apply reports missing ones.
            Err(error) if error.is_forbidden() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(missing)
}

/// The objects of a record, without those that cannot be parsed or whose kind no longer exists.
pub(crate) fn objects_of(record: &Record, resources: &ApiResources) -> Vec<Object> {
    let documents = record.documents().into_iter();
    let bodies = documents
        .filter_map(|(source, content)| parse_objects(source, content).ok())
        .flatten();
    bodies
        .filter_map(|body| {
            let id = resources.resolve(&ObjectId::of(&body), &record.id.namespace)?;
            (!id.name.is_empty()).then(|| Object::new(id, body))
        })
        .collect()
}

impl Observed {
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The live object, if it exists. May contain secrets.
    pub fn live(&self, id: &ObjectId) -> Option<&Value> {
        self.live.get(&id.key())
    }

    /// Whether the object is in the manifest of the deployed revision.
    pub(crate) fn is_deployed(&self, key: &ObjectKey) -> bool {
        self.history.deployed().is_some()
            && self
                .recorded
                .first()
                .is_some_and(|objects| objects.iter().any(|object| object.id().key() == *key))
    }
}
