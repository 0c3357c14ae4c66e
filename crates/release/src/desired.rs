//! The desired state of a release: objects, hooks, CRDs, and the contents of its record.

mod images;
mod objects;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use outrigger_chart::manifest::kind_order::KindOrder;
use outrigger_chart::{Chart, Profile};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::cluster::{ApiResources, Cluster};
use crate::error::Error;
use crate::history::History;
use crate::id::{ObjectId, ReleaseId};
use crate::ownership;
use crate::record::{
    ChartSummary, Hook, Info, Record, SERVER_SIDE, Status, StoredChart, push_document,
};
use crate::render::RenderOutput;

pub(crate) use objects::parse_objects;

/// An object of a release, as it is applied.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    id: ObjectId,
    body: Value,
}

/// Omits the body, which may be a Secret.
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

    /// The object as it is sent to the API server. May contain secrets.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// Whether its resource policy keeps it on uninstall and prune.
    pub fn is_kept(&self) -> bool {
        ownership::has_keep_policy(&self.body)
    }
}

/// A YAML document with an object or a list of objects, and the path of its template.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) source: String,
    pub(crate) content: String,
}

#[derive(Clone)]
pub struct Desired {
    id: ReleaseId,
    pub(crate) action: Action,
    pub(crate) revision: u32,
    documents: Vec<Document>,
    objects: Vec<Object>,
    deferred: Vec<ObjectId>,
    hooks: Vec<Hook>,
    crds: Vec<Object>,
    notes: Option<String>,
    warnings: Vec<String>,
    chart: StoredChart,
    config: Map<String, Value>,
    labels: BTreeMap<String, String>,
    /// The revision that a rollback restores.
    rollback_to: Option<u32>,
    resources: Arc<ApiResources>,
}

/// Omits values and bodies, which may contain secrets.
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

/// The desired state of a release without a chart: these objects, in Helm's order of kinds.
pub async fn from_manifests(
    cluster: &Cluster,
    history: &History,
    chart: ChartSummary,
    objects: Vec<Value>,
) -> Result<Desired, Error> {
    let mut documents: Vec<(String, Document)> = Vec::new();
    for object in objects {
        let id = ObjectId::of(&object);
        let content = String::from_utf8_lossy(&outrigger_goyaml::write_json(&object)).into_owned();
        let source = format!("{}/{}-{}.yaml", chart.name, id.kind, id.name).to_lowercase();
        documents.push((id.kind, Document { source, content }));
    }
    let order = KindOrder::install(Profile::Helm4);
    documents.sort_by(|(a, _), (b, _)| order.compare(a, b));
    let documents: Vec<Document> = documents
        .into_iter()
        .map(|(_, document)| document)
        .collect();
    let chart = StoredChart::from_summary(chart);
    let resources = cluster.api_resources().await?;
    let mut desired = Desired::new(history, chart, Map::new(), resources);
    desired.set_documents(cluster, documents).await?;
    Ok(desired)
}

impl Desired {
    fn new(
        history: &History,
        chart: StoredChart,
        config: Map<String, Value>,
        resources: Arc<ApiResources>,
    ) -> Self {
        let last = history.records().last();
        Self {
            id: history.id().clone(),
            action: action(history),
            revision: history.next_revision(),
            documents: Vec::new(),
            objects: Vec::new(),
            deferred: Vec::new(),
            hooks: Vec::new(),
            crds: Vec::new(),
            notes: None,
            warnings: Vec::new(),
            chart,
            config,
            labels: last.map(|last| last.labels.clone()).unwrap_or_default(),
            rollback_to: None,
            resources,
        }
    }

    /// The desired state of a rendered chart. `resources` includes those of the chart's CRDs.
    pub(crate) async fn from_rendered(
        cluster: &Cluster,
        history: &History,
        chart: &Arc<Chart>,
        config: Map<String, Value>,
        output: RenderOutput,
        resources: Arc<ApiResources>,
        defer_unknown_kinds: bool,
    ) -> Result<Self, Error> {
        let stored = cluster.charts().encode(chart, output.processed);
        let rendered = output.rendered;
        let mut desired = Self::new(history, stored, config, resources);
        let documents = rendered.manifests.into_iter().map(|manifest| Document {
            source: manifest.path,
            content: manifest.content,
        });
        let documents = documents.collect();
        desired.hooks = rendered.hooks.into_iter().map(Hook::from).collect();
        desired.notes = rendered.notes;
        if defer_unknown_kinds {
            desired.set_known_documents(cluster, documents).await?;
        } else {
            desired.set_documents(cluster, documents).await?;
        }
        Ok(desired)
    }

    /// The contents of an earlier revision as a new one.
    pub(crate) async fn from_record(
        cluster: &Cluster,
        history: &History,
        record: Record,
    ) -> Result<Self, Error> {
        let resources = cluster.api_resources().await?;
        let documents = record.documents().into_iter();
        let documents = documents.map(|(source, content)| Document {
            source: source.to_owned(),
            content: content.to_owned(),
        });
        let documents = documents.collect();
        let mut desired = Self::new(history, record.chart, record.config, resources);
        desired.action = Action::Rollback;
        desired.rollback_to = Some(record.revision);
        desired.hooks = record.hooks;
        desired.labels = record.labels;
        desired.notes = Some(record.info.notes).filter(|notes| !notes.is_empty());
        desired.set_documents(cluster, documents).await?;
        Ok(desired)
    }

    /// Parses the documents. Repeats discovery if a kind is unknown.
    async fn set_documents(
        &mut self,
        cluster: &Cluster,
        documents: Vec<Document>,
    ) -> Result<(), Error> {
        let objects = match self.parse(&documents) {
            Err(Error::UnknownKinds(unknown)) => {
                let mut resources = cluster.api_resources().await?;
                for object in &unknown {
                    let (version, kind) = (&object.api_version, &object.kind);
                    resources = cluster.api_resources_with(version, kind).await?;
                }
                let crds = self.crds.iter().map(Object::body);
                self.resources = Arc::new(resources.with_crds(crds));
                self.parse(&documents)?
            }
            objects => objects?,
        };
        self.objects = objects;
        self.documents = documents;
        Ok(())
    }

    /// Leaves out the documents with objects of kinds that are not defined yet.
    pub(crate) async fn set_known_documents(
        &mut self,
        cluster: &Cluster,
        documents: Vec<Document>,
    ) -> Result<(), Error> {
        match self.set_documents(cluster, documents.clone()).await {
            Err(Error::UnknownKinds(unknown)) => self.deferred = unknown,
            result => return result,
        }
        let mut known = Vec::new();
        for document in documents {
            match self.parse(std::slice::from_ref(&document)) {
                Err(Error::UnknownKinds(_)) => {}
                result => {
                    result?;
                    known.push(document);
                }
            }
        }
        self.set_documents(cluster, known).await
    }

    /// The objects that are left out, because their kinds are not defined yet.
    pub fn deferred(&self) -> &[ObjectId] {
        &self.deferred
    }

    fn parse(&self, documents: &[Document]) -> Result<Vec<Object>, Error> {
        objects::parse(documents, &self.id, &self.resources)
    }

    pub(crate) fn set_crds(&mut self, crds: Vec<Object>) {
        self.crds = crds;
    }

    pub(crate) fn set_warnings(&mut self, warnings: Vec<String>) {
        self.warnings = warnings;
    }

    pub fn id(&self) -> &ReleaseId {
        &self.id
    }

    /// The objects in the order in which they are applied, without hooks.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// The CRDs of the chart's `crds` directory.
    pub fn crds(&self) -> &[Object] {
        &self.crds
    }

    /// The rendered `NOTES.txt`.
    pub fn notes(&self) -> Option<&str> {
        self.notes.as_deref()
    }

    /// Warnings about the chart or its values.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether a record was written by us for this chart and these values. Its objects may differ: charts can generate
    /// passwords.
    pub fn is_source_of(&self, record: &Record) -> bool {
        !record.is_foreign
            && record.chart.summary() == self.chart.summary()
            && record.config == self.config
    }

    /// Whether its chart has other templates or default values than the chart of a record: the same version of another
    /// repository, or one that was published again.
    pub fn has_other_chart_than(&self, record: &Record) -> bool {
        let recorded = record.chart.content();
        !recorded.templates.is_empty() && recorded != self.chart.content()
    }

    pub fn chart(&self) -> &ChartSummary {
        self.chart.summary()
    }

    /// All objects except hooks, as Helm prints and stores them. May contain secrets.
    pub fn manifest(&self) -> String {
        let mut manifest = String::new();
        for document in &self.documents {
            push_document(&mut manifest, &document.source, &document.content);
        }
        manifest
    }

    /// The pending record of the revision.
    pub(crate) fn record(&self) -> Record {
        let (status, description) = match self.action {
            Action::Upgrade => (Status::PendingUpgrade, "Preparing upgrade".to_owned()),
            Action::Rollback => (
                Status::PendingRollback,
                format!("Rollback to {}", self.rollback_to.unwrap_or_default()),
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
            is_truncated: false,
            is_foreign: false,
            resource_version: None,
        }
    }
}

#[cfg(test)]
impl Desired {
    /// The desired state of these documents, without a cluster.
    pub(crate) fn for_tests(history: &History, documents: &[&str], hooks: Vec<Hook>) -> Self {
        let chart = StoredChart::from_summary(ChartSummary {
            name: "web".to_owned(),
            version: "1.0.0".to_owned(),
            app_version: "2".to_owned(),
        });
        let resources = Arc::new(crate::cluster::api_resources_for_tests());
        let mut desired = Self::new(history, chart, Map::new(), resources);
        desired.documents = documents
            .iter()
            .map(|&content| Document {
                source: "web/templates/a.yaml".to_owned(),
                content: content.to_owned(),
            })
            .collect();
        desired.objects = desired
            .parse(&desired.documents)
            .expect("the documents are valid");
        desired.hooks = hooks;
        desired
    }
}

/// Every attempt is an install until a revision has been deployed.
pub(crate) fn action(history: &History) -> Action {
    match history.deployed() {
        Some(_) => Action::Upgrade,
        None => Action::Install,
    }
}
