//! The chart in a release record: Helm's JSON, compressed once for all records of the chart.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_chart::chart::File;
use outrigger_chart::metadata::Maintainer;
use outrigger_chart::processed_chart::ProcessedChart;
use outrigger_chart::yaml_value::YamlValue;
use outrigger_chart::{Chart, Dependency, Lock, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Name and version of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartSummary {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub app_version: String,
}

/// The templates of a chart and its default values.
#[derive(Debug, PartialEq)]
pub(crate) struct ChartContent {
    /// By name, in Base64. Empty for large charts, of which records have no templates.
    pub(crate) templates: BTreeMap<String, String>,
    default_values: Option<Value>,
}

/// A chart as release records store it. Cheap to clone.
#[derive(Clone)]
pub struct StoredChart {
    inner: Arc<Inner>,
}

struct Inner {
    summary: ChartSummary,
    json: String,
    compressed: OnceLock<Vec<u8>>,
}

impl fmt::Debug for StoredChart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoredChart")
            .field(&self.inner.summary)
            .finish()
    }
}

impl StoredChart {
    /// From the chart JSON of a record.
    pub(crate) fn from_json(json: String) -> Self {
        #[derive(Default, Deserialize)]
        struct Header {
            #[serde(default)]
            metadata: ChartSummary,
        }
        let header: Header = serde_json::from_str(&json).unwrap_or_default();
        Self::new(header.metadata, json)
    }

    /// A chart without templates and files, for a release of plain manifests.
    pub fn from_summary(summary: ChartSummary) -> Self {
        let json = json!({
            "metadata": {
                "apiVersion": "v2",
                "name": summary.name,
                "version": summary.version,
                "appVersion": summary.app_version,
            },
            "lock": null, "templates": [], "values": {}, "schema": null, "files": [],
        });
        Self::new(summary, json.to_string())
    }

    fn new(summary: ChartSummary, json: String) -> Self {
        Self {
            inner: Arc::new(Inner {
                summary,
                json,
                compressed: OnceLock::new(),
            }),
        }
    }

    pub fn summary(&self) -> &ChartSummary {
        &self.inner.summary
    }

    pub fn json(&self) -> &str {
        &self.inner.json
    }

    /// What determines the result of a render.
    pub(crate) fn content(&self) -> ChartContent {
        #[derive(Default, Deserialize)]
        struct Content {
            #[serde(default)]
            templates: Option<Vec<Template>>,
            #[serde(default)]
            values: Value,
            #[serde(default)]
            metadata: Dependencies,
        }
        #[derive(Deserialize)]
        struct Template {
            name: String,
            #[serde(default)]
            data: Option<String>,
        }
        #[derive(Default, Deserialize)]
        struct Dependencies {
            #[serde(default)]
            dependencies: Vec<Value>,
        }
        let chart: Content = serde_json::from_str(self.json()).unwrap_or_default();
        let templates = chart.templates.unwrap_or_default().into_iter();
        let templates = templates.map(|file| (file.name, file.data.unwrap_or_default()));
        // Those of a chart with dependencies also depend on the values of the release.
        let is_plain = chart.metadata.dependencies.is_empty();
        ChartContent {
            templates: templates.collect(),
            default_values: is_plain.then_some(chart.values),
        }
    }

    /// The start of a record's JSON up to and including the chart, as a separate gzip member.
    pub(crate) fn compressed(&self) -> &[u8] {
        let inner = &self.inner;
        inner
            .compressed
            .get_or_init(|| gzip(&[b"{\"chart\":", inner.json.as_bytes()]))
    }

    /// The chart without files and templates, which Helm does not need for installed releases.
    pub(crate) fn without_files(&self) -> Self {
        let mut chart: Map<String, Value> =
            serde_json::from_str(&self.inner.json).unwrap_or_default();
        chart.insert("templates".to_owned(), json!([]));
        chart.insert("files".to_owned(), json!([]));
        Self::new(self.inner.summary.clone(), Value::Object(chart).to_string())
    }
}

/// Compresses into one gzip member. Decoders concatenate the members of a stream.
pub(crate) fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for part in parts {
        encoder.write_all(part).expect("writes to a Vec succeed");
    }
    encoder.finish().expect("writes to a Vec succeed")
}

/// Encoded charts by the address of the chart, so that many releases of one chart share its encoding.
#[derive(Default)]
pub(crate) struct ChartCache {
    charts: Mutex<HashMap<usize, CachedChart>>,
}

/// The encoding of a chart for its most recent release.
struct CachedChart {
    owner: Weak<Chart>,
    processed: Option<ProcessedChart>,
    stored: StoredChart,
}

impl ChartCache {
    /// Encodes a chart. `processed` has the values and dependencies after Helm's dependency processing.
    pub(crate) fn encode(
        &self,
        chart: &Arc<Chart>,
        processed: Option<ProcessedChart>,
    ) -> StoredChart {
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Arc::as_ptr(chart).addr();
        if let Some(cached) = charts.get(&address)
            && cached.owner.strong_count() > 0
            && cached.processed == processed
        {
            return cached.stored.clone();
        }
        charts.retain(|_, cached| cached.owner.strong_count() > 0);
        let json = chart_json(chart, processed.as_ref()).to_string();
        let stored = StoredChart::new(summary(&chart.metadata), json);
        let cached = CachedChart {
            owner: Arc::downgrade(chart),
            processed,
            stored: stored.clone(),
        };
        charts.insert(address, cached);
        stored
    }
}

fn summary(metadata: &Metadata) -> ChartSummary {
    ChartSummary {
        name: metadata.name.clone(),
        version: metadata.version.clone(),
        app_version: metadata.app_version.clone(),
    }
}

fn chart_json(chart: &Chart, processed: Option<&ProcessedChart>) -> Value {
    let values = chart.values.as_ref().map_or_else(|| json!({}), yaml_json);
    let values = processed.map_or(values, |processed| processed.values.clone());
    let dependencies = chart.metadata.declared();
    let dependencies = processed.map_or(dependencies, |processed| &processed.dependencies);
    json!({
        "metadata": metadata_json(&chart.metadata, dependencies),
        "lock": chart.lock.as_ref().map(lock_json),
        "templates": files_json(&chart.templates),
        "values": values,
        "schema": chart.schema.as_ref().map(|schema| STANDARD.encode(schema.as_slice())),
        "files": files_json(&chart.files),
    })
}

fn files_json(files: &[File]) -> Value {
    let file =
        |file: &File| json!({"name": file.name, "data": STANDARD.encode(file.data.as_slice())});
    files.iter().map(file).collect()
}

fn metadata_json(metadata: &Metadata, dependencies: &[Dependency]) -> Value {
    let mut fields = Map::new();
    let texts = [
        ("name", &metadata.name),
        ("home", &metadata.home),
        ("version", &metadata.version),
        ("description", &metadata.description),
        ("icon", &metadata.icon),
        ("apiVersion", &metadata.api_version),
        ("condition", &metadata.condition),
        ("tags", &metadata.tags),
        ("appVersion", &metadata.app_version),
        ("kubeVersion", &metadata.kube_version),
        ("type", &metadata.chart_type),
    ];
    for (name, text) in texts {
        insert_text(&mut fields, name, text);
    }
    insert_list(&mut fields, "sources", json!(metadata.sources));
    insert_list(&mut fields, "keywords", json!(metadata.keywords));
    let maintainers = metadata.maintainers.iter().map(maintainer_json).collect();
    insert_list(&mut fields, "maintainers", maintainers);
    let dependencies = dependencies.iter().map(dependency_json).collect();
    insert_list(&mut fields, "dependencies", dependencies);
    if metadata.deprecated {
        fields.insert("deprecated".to_owned(), json!(true));
    }
    if !metadata.annotations.is_empty() {
        let annotations = metadata.annotations.iter();
        let annotations = annotations.map(|(key, value)| (key.clone(), json!(value)));
        fields.insert("annotations".to_owned(), annotations.collect());
    }
    Value::Object(fields)
}

fn maintainer_json(maintainer: &Maintainer) -> Value {
    let mut fields = Map::new();
    insert_text(&mut fields, "name", &maintainer.name);
    insert_text(&mut fields, "email", &maintainer.email);
    insert_text(&mut fields, "url", &maintainer.url);
    Value::Object(fields)
}

fn dependency_json(dependency: &Dependency) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(dependency.name));
    insert_text(&mut fields, "version", &dependency.version);
    fields.insert("repository".to_owned(), json!(dependency.repository));
    insert_text(&mut fields, "condition", &dependency.condition);
    insert_list(&mut fields, "tags", json!(dependency.tags));
    if dependency.enabled {
        fields.insert("enabled".to_owned(), json!(true));
    }
    let imports = dependency.import_values.iter().map(yaml_json).collect();
    insert_list(&mut fields, "import-values", imports);
    insert_text(&mut fields, "alias", &dependency.alias);
    Value::Object(fields)
}

/// Go rejects invalid timestamps, so they are replaced by Go's zero time.
fn lock_json(lock: &Lock) -> Value {
    let generated = lock.generated.parse::<jiff::Timestamp>();
    let generated = generated.map_or_else(
        |_| "0001-01-01T00:00:00Z".to_owned(),
        |time| time.to_string(),
    );
    let dependencies: Vec<Value> = lock.dependencies.iter().map(dependency_json).collect();
    json!({"generated": generated, "digest": lock.digest, "dependencies": dependencies})
}

fn insert_text(fields: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(name.to_owned(), json!(text));
    }
}

fn insert_list(fields: &mut Map<String, Value>, name: &str, list: Value) {
    if list.as_array().is_some_and(|items| !items.is_empty()) {
        fields.insert(name.to_owned(), list);
    }
}

fn yaml_json(value: &YamlValue) -> Value {
    match value {
        YamlValue::Null => Value::Null,
        YamlValue::Bool(flag) => json!(flag),
        YamlValue::Int(number) => json!(number),
        YamlValue::Uint(number) => json!(number),
        YamlValue::Float(number) => json!(number),
        YamlValue::Str(text) => json!(text),
        YamlValue::List(items) => items.iter().map(yaml_json).collect(),
        YamlValue::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), yaml_json(value)))
            .collect(),
    }
}
