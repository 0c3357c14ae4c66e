//! What is in the cluster of all that a release wants and of all that its records name. One read for each object.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::cluster::{Cluster, Kinds};
use crate::desired::{Desired, Object, parse_objects};
use crate::error::Error;
use crate::id::{Key, ObjectId};
use crate::past::Past;
use crate::record::{Record, hook};

/// Reads at a time.
const AT_ONCE: usize = 16;

/// What is there.
#[derive(Clone)]
pub struct Observed {
    pub(crate) past: Past,
    pub(crate) live: HashMap<Key, Value>,
    /// The objects of the records that count, in the order of the records.
    pub(crate) recorded: Vec<Vec<Object>>,
    /// Namespaces that objects name, and that neither are there nor come with the release.
    pub(crate) missing_namespaces: BTreeSet<String>,
}

/// Objects may be secret, so they are not shown.
impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("past", &self.past)
            .field("live", &self.live.len())
            .finish_non_exhaustive()
    }
}

/// Reads every object that is wanted, or that a record names which counts.
pub async fn observe(cluster: &Cluster, past: Past, desired: &Desired) -> Result<Observed, Error> {
    let kinds = cluster.kinds().await?;
    let recorded: Vec<Vec<Object>> = past
        .records()
        .iter()
        .map(|record| objects_of(record, &kinds))
        .collect();
    // Whether it should be there, by what is known.
    let mut wanted: HashMap<Key, (ObjectId, bool)> = HashMap::new();
    for object in desired.objects() {
        wanted.insert(object.id().key(), (object.id().clone(), false));
    }
    let recorded_ids = recorded.iter().flatten().map(Object::id);
    let definitions = desired.definitions().iter().map(Object::id);
    for id in recorded_ids.chain(definitions) {
        wanted.insert(id.key(), (id.clone(), true));
    }
    let reads = stream::iter(wanted).map(|(key, (id, is_likely))| async move {
        let object = if is_likely {
            cluster.get(&id).await?
        } else {
            cluster.get_unlikely(&id).await?
        };
        Ok::<_, Error>(object.map(|object| (key, object)))
    });
    let live: Vec<Option<(Key, Value)>> = reads.buffer_unordered(AT_ONCE).try_collect().await?;
    let live = live.into_iter().flatten().collect();
    let missing_namespaces = missing_namespaces(cluster, desired, &live).await?;
    Ok(Observed {
        past,
        live,
        recorded,
        missing_namespaces,
    })
}

/// Looks for the namespaces of new objects. That of the release itself is found missing when the first record is
/// written, and may be made then. What hooks make before all objects cannot be known.
async fn missing_namespaces(
    cluster: &Cluster,
    desired: &Desired,
    live: &HashMap<Key, Value>,
) -> Result<BTreeSet<String>, Error> {
    let before = desired.action.hooks().map(|(before, _)| before);
    if before.is_some_and(|event| !hook::in_order(desired.hooks(), event).is_empty()) {
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
    let comes = |id: &ObjectId| desired.objects().iter().any(|object| object.id() == id);
    let named: BTreeSet<&str> = new.filter_map(|id| id.namespace.as_deref()).collect();
    let mut missing = BTreeSet::new();
    for name in named {
        let id = namespace(name);
        if name == desired.id().namespace || comes(&id) {
            continue;
        }
        match cluster.get(&id).await {
            Ok(None) => {
                missing.insert(name.to_owned());
            }
            Ok(Some(_)) => {}
            // Who may not look finds out later.
            Err(error) if error.is_forbidden() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(missing)
}

/// The objects of a record. What cannot be read, or is of a kind that is gone, is not there either.
pub(crate) fn objects_of(record: &Record, kinds: &Kinds) -> Vec<Object> {
    let documents = record.documents().into_iter();
    let bodies = documents
        .filter_map(|(source, content)| parse_objects(source, content).ok())
        .flatten();
    bodies
        .filter_map(|body| {
            let id = kinds.resolve(&ObjectId::of(&body), &record.id.namespace)?;
            (!id.name.is_empty()).then(|| Object::new(id, body))
        })
        .collect()
}

impl Observed {
    pub fn past(&self) -> &Past {
        &self.past
    }

    /// The object as it is, if it is there. May hold secrets.
    pub fn live(&self, id: &ObjectId) -> Option<&Value> {
        self.live.get(&id.key())
    }

    /// Whether the deployed revision has the object.
    pub(crate) fn is_deployed(&self, key: &Key) -> bool {
        self.past.deployed().is_some()
            && self
                .recorded
                .first()
                .is_some_and(|objects| objects.iter().any(|object| object.id().key() == *key))
    }
}
