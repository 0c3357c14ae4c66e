//! What a release should be: objects, hooks and definitions, with all that its record will say.

mod images;
mod objects;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use outrigger_chart::manifest::kind_order::KindOrder;
use outrigger_chart::{Chart, Profile};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::cluster::{Cluster, Kinds};
use crate::error::Error;
use crate::id::{ObjectId, ReleaseId};
use crate::ownership;
use crate::past::Past;
use crate::record::{Hook, Info, Record, SERVER_SIDE, Status, StoredChart, Title, push_document};
use crate::render::Ran;

pub use images::Image;
pub(crate) use objects::parse_objects;

/// An object that belongs to a release, as it is applied.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    id: ObjectId,
    body: Value,
}

/// The contents may be secret, so they are not shown.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.id).finish()
    }
}

impl Object {
    pub(crate) fn new(id: ObjectId, body: Value) -> Self {
        Self { id, body }
    }

    pub fn id(&self) -> &ObjectId {
        &self.id
    }

    /// The object as it is sent to the server. May hold secrets.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// Whether it stays when the release goes.
    pub fn is_kept(&self) -> bool {
        ownership::is_kept(&self.body)
    }
}

/// A text with one object, or a list of them, and the template it came from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) source: String,
    pub(crate) content: String,
}

/// What a release should be.
#[derive(Clone)]
pub struct Desired {
    id: ReleaseId,
    pub(crate) action: Action,
    pub(crate) revision: u32,
    documents: Vec<Document>,
    objects: Vec<Object>,
    hooks: Vec<Hook>,
    definitions: Vec<Object>,
    notes: Option<String>,
    warnings: Vec<String>,
    chart: StoredChart,
    config: Map<String, Value>,
    labels: BTreeMap<String, String>,
    /// The revision that it goes back to.
    pub(crate) back_to: Option<u32>,
    kinds: Arc<Kinds>,
}

/// Values and objects may be secret, so they are not shown.
impl fmt::Debug for Desired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desired")
            .field("id", &self.id)
            .field("action", &self.action)
            .field("revision", &self.revision)
            .field("objects", &self.objects)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}

/// Objects that came without a chart. They are applied as they are, in the order of their kinds.
pub async fn from_manifests(
    cluster: &Cluster,
    past: &Past,
    title: Title,
    objects: Vec<Value>,
) -> Result<Desired, Error> {
    let mut documents: Vec<(String, Document)> = Vec::new();
    for object in objects {
        let id = ObjectId::of(&object);
        let content = String::from_utf8_lossy(&outrigger_goyaml::write_json(&object)).into_owned();
        let source = format!("{}/{}-{}.yaml", title.name, id.kind, id.name).to_lowercase();
        documents.push((id.kind, Document { source, content }));
    }
    let order = KindOrder::install(Profile::Helm4);
    documents.sort_by(|(a, _), (b, _)| order.compare(a, b));
    let documents: Vec<Document> = documents
        .into_iter()
        .map(|(_, document)| document)
        .collect();
    let chart = StoredChart::named(title);
    let kinds = cluster.kinds().await?;
    let mut desired = Desired::new(past, chart, Map::new(), kinds);
    desired.set_documents(cluster, documents).await?;
    Ok(desired)
}

impl Desired {
    fn new(past: &Past, chart: StoredChart, config: Map<String, Value>, kinds: Arc<Kinds>) -> Self {
        let last = past.records().last();
        Self {
            id: past.id().clone(),
            action: action(past),
            revision: past.next_revision(),
            documents: Vec::new(),
            objects: Vec::new(),
            hooks: Vec::new(),
            definitions: Vec::new(),
            notes: None,
            warnings: Vec::new(),
            chart,
            config,
            labels: last.map(|last| last.labels.clone()).unwrap_or_default(),
            back_to: None,
            kinds,
        }
    }

    /// What a chart was rendered to. `kinds` knows the chart's definitions already.
    pub(crate) async fn from_rendered(
        cluster: &Cluster,
        past: &Past,
        chart: &Arc<Chart>,
        config: Map<String, Value>,
        ran: Ran,
        kinds: Arc<Kinds>,
    ) -> Result<Self, Error> {
        let stored = cluster.charts().of(chart, ran.settled);
        let rendered = ran.rendered;
        let mut desired = Self::new(past, stored, config, kinds);
        let documents = rendered.manifests.into_iter().map(|manifest| Document {
            source: manifest.path,
            content: manifest.content,
        });
        let documents = documents.collect();
        desired.hooks = rendered.hooks.into_iter().map(Hook::from).collect();
        desired.notes = rendered.notes;
        desired.set_documents(cluster, documents).await?;
        Ok(desired)
    }

    /// What an earlier revision was, as a new one.
    pub(crate) async fn from_record(
        cluster: &Cluster,
        past: &Past,
        record: Record,
    ) -> Result<Self, Error> {
        let kinds = cluster.kinds().await?;
        let documents = record.documents().into_iter();
        let documents = documents.map(|(source, content)| Document {
            source: source.to_owned(),
            content: content.to_owned(),
        });
        let documents = documents.collect();
        let mut desired = Self::new(past, record.chart, record.config, kinds);
        desired.action = Action::Rollback;
        desired.back_to = Some(record.revision);
        desired.hooks = record.hooks;
        desired.labels = record.labels;
        desired.notes = Some(record.info.notes).filter(|notes| !notes.is_empty());
        desired.set_documents(cluster, documents).await?;
        Ok(desired)
    }

    /// Reads the documents. A kind that is not known is asked for once more.
    async fn set_documents(
        &mut self,
        cluster: &Cluster,
        documents: Vec<Document>,
    ) -> Result<(), Error> {
        let objects = match self.read(&documents) {
            Err(Error::UnknownKinds(unknown)) => {
                let mut kinds = cluster.kinds().await?;
                for object in &unknown {
                    let (version, kind) = (&object.api_version, &object.kind);
                    kinds = cluster.kinds_with(version, kind).await?;
                }
                let bodies = self.definitions.iter().map(Object::body);
                self.kinds = Arc::new(kinds.with_definitions(bodies));
                self.read(&documents)?
            }
            objects => objects?,
        };
        self.objects = objects;
        self.documents = documents;
        Ok(())
    }

    fn read(&self, documents: &[Document]) -> Result<Vec<Object>, Error> {
        objects::read(documents, &self.id, &self.kinds)
    }

    pub(crate) fn set_definitions(&mut self, definitions: Vec<Object>) {
        self.definitions = definitions;
    }

    pub(crate) fn set_warnings(&mut self, warnings: Vec<String>) {
        self.warnings = warnings;
    }

    pub fn id(&self) -> &ReleaseId {
        &self.id
    }

    /// The objects of the release in the order in which they are applied, hooks apart.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// The definitions of the chart's folder `crds`.
    pub fn definitions(&self) -> &[Object] {
        &self.definitions
    }

    /// The chart's own words on what to do next.
    pub fn notes(&self) -> Option<&str> {
        self.notes.as_deref()
    }

    /// What is odd about the chart or its values.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn title(&self) -> &Title {
        self.chart.title()
    }

    /// All objects but hooks, as Helm prints and stores them. May hold secrets.
    pub fn manifest(&self) -> String {
        let mut manifest = String::new();
        for document in &self.documents {
            push_document(&mut manifest, &document.source, &document.content);
        }
        manifest
    }

    /// The record of the revision, pending.
    pub(crate) fn record(&self) -> Record {
        let (status, description) = match self.action {
            Action::Upgrade => (Status::PendingUpgrade, "Preparing upgrade".to_owned()),
            Action::Rollback => (
                Status::PendingRollback,
                format!("Rollback to {}", self.back_to.unwrap_or_default()),
            ),
            _ => (
                Status::PendingInstall,
                "Initial install underway".to_owned(),
            ),
        };
        Record {
            id: self.id.clone(),
            revision: self.revision,
            info: Info {
                status,
                description,
                notes: self.notes.clone().unwrap_or_default(),
                ..Info::default()
            },
            chart: self.chart.clone(),
            config: self.config.clone(),
            manifest: self.manifest(),
            hooks: self.hooks.clone(),
            apply_method: SERVER_SIDE.to_owned(),
            labels: self.labels.clone(),
            is_skeleton: false,
        }
    }
}

#[cfg(test)]
impl Desired {
    /// A release of these documents, without a cluster.
    pub(crate) fn for_tests(past: &Past, documents: &[&str], hooks: Vec<Hook>) -> Self {
        let chart = StoredChart::named(Title {
            name: "web".to_owned(),
            version: "1.0.0".to_owned(),
            app_version: "2".to_owned(),
        });
        let kinds = Arc::new(crate::cluster::kinds_for_tests());
        let mut desired = Self::new(past, chart, Map::new(), kinds);
        desired.documents = documents
            .iter()
            .map(|&content| Document {
                source: "web/templates/a.yaml".to_owned(),
                content: content.to_owned(),
            })
            .collect();
        desired.objects = desired
            .read(&desired.documents)
            .expect("the documents of a test are right");
        desired.hooks = hooks;
        desired
    }
}

/// Until a revision was deployed, every attempt is an installation.
pub(crate) fn action(past: &Past) -> Action {
    match past.deployed() {
        Some(_) => Action::Upgrade,
        None => Action::Install,
    }
}
