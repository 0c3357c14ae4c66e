//! The chart inside a record: its JSON as Helm writes it, compressed once for all records that have it.

use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_chart::chart::File;
use outrigger_chart::metadata::Maintainer;
use outrigger_chart::plain::Plain;
use outrigger_chart::settled::Settled;
use outrigger_chart::{Chart, Dependency, Lock, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a chart is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Title {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub app_version: String,
}

/// A chart as records keep it. Cheap to clone.
#[derive(Clone)]
pub struct StoredChart {
    inner: Arc<Inner>,
}

struct Inner {
    title: Title,
    json: String,
    compressed: OnceLock<Vec<u8>>,
}

impl fmt::Debug for StoredChart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoredChart")
            .field(&self.inner.title)
            .finish()
    }
}

impl StoredChart {
    /// From the JSON of a record.
    pub(crate) fn from_json(json: String) -> Self {
        #[derive(Default, Deserialize)]
        struct Head {
            #[serde(default)]
            metadata: Title,
        }
        let head: Head = serde_json::from_str(&json).unwrap_or_default();
        Self::new(head.metadata, json)
    }

    /// A chart that has a name and nothing else, for objects that came without one.
    pub fn named(title: Title) -> Self {
        let json = json!({
            "metadata": {
                "apiVersion": "v2",
                "name": title.name,
                "version": title.version,
                "appVersion": title.app_version,
            },
            "lock": null, "templates": [], "values": {}, "schema": null, "files": [],
        });
        Self::new(title, json.to_string())
    }

    fn new(title: Title, json: String) -> Self {
        Self {
            inner: Arc::new(Inner {
                title,
                json,
                compressed: OnceLock::new(),
            }),
        }
    }

    pub fn title(&self) -> &Title {
        &self.inner.title
    }

    pub fn json(&self) -> &str {
        &self.inner.json
    }

    /// The beginning of a record's JSON, up to the chart, as a gzip member of its own.
    pub(crate) fn compressed(&self) -> &[u8] {
        let inner = &self.inner;
        inner
            .compressed
            .get_or_init(|| gzip(&[b"{\"chart\":", inner.json.as_bytes()]))
    }

    /// The same without what Helm can do without: the files and templates.
    pub(crate) fn without_files(&self) -> Self {
        let mut chart: Map<String, Value> =
            serde_json::from_str(&self.inner.json).unwrap_or_default();
        chart.insert("templates".to_owned(), json!([]));
        chart.insert("files".to_owned(), json!([]));
        Self::new(self.inner.title.clone(), Value::Object(chart).to_string())
    }
}

/// Compresses into one gzip member. Readers of gzip take several members for one text.
pub(crate) fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for part in parts {
        encoder.write_all(part).expect("memory takes any write");
    }
    encoder.finish().expect("memory takes any write")
}

/// Charts that were written before: many releases of one chart share one text.
#[derive(Default)]
pub(crate) struct ChartTexts {
    known: Mutex<HashMap<usize, Known>>,
}

/// The text of a chart as the last release of it had it.
struct Known {
    owner: Weak<Chart>,
    settled: Option<Settled>,
    stored: StoredChart,
}

impl ChartTexts {
    /// The text of a chart for a release, whose values may have made something else of it.
    pub(crate) fn of(&self, chart: &Arc<Chart>, settled: Option<Settled>) -> StoredChart {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Arc::as_ptr(chart).addr();
        if let Some(known) = known.get(&address)
            && known.owner.strong_count() > 0
            && known.settled == settled
        {
            return known.stored.clone();
        }
        known.retain(|_, known| known.owner.strong_count() > 0);
        let json = chart_json(chart, settled.as_ref()).to_string();
        let stored = StoredChart::new(title(&chart.metadata), json);
        let last = Known {
            owner: Arc::downgrade(chart),
            settled,
            stored: stored.clone(),
        };
        known.insert(address, last);
        stored
    }
}

fn title(metadata: &Metadata) -> Title {
    Title {
        name: metadata.name.clone(),
        version: metadata.version.clone(),
        app_version: metadata.app_version.clone(),
    }
}

fn chart_json(chart: &Chart, settled: Option<&Settled>) -> Value {
    let values = chart.values.as_ref().map_or_else(|| json!({}), plain_json);
    let values = settled.map_or(values, |settled| settled.values.clone());
    let dependencies = chart.metadata.declared();
    let dependencies = settled.map_or(dependencies, |settled| &settled.dependencies);
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
    let imports = dependency.import_values.iter().map(plain_json).collect();
    insert_list(&mut fields, "import-values", imports);
    insert_text(&mut fields, "alias", &dependency.alias);
    Value::Object(fields)
}

/// Go refuses a time that is none, so what is no time becomes Go's zero.
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

fn plain_json(plain: &Plain) -> Value {
    match plain {
        Plain::Null => Value::Null,
        Plain::Bool(flag) => json!(flag),
        Plain::Int(number) => json!(number),
        Plain::Uint(number) => json!(number),
        Plain::Float(number) => json!(number),
        Plain::Str(text) => json!(text),
        Plain::List(items) => items.iter().map(plain_json).collect(),
        Plain::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), plain_json(value)))
            .collect(),
    }
}
