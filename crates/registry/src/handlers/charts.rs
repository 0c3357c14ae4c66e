//! The chart repository: `index.yaml`, archives, and the API of `ChartMuseum`, on the charts that the registry has.
//!
//! Every OCI artifact that is a Helm chart is listed, wherever it was pushed to. Charts of the chart API are pushed to
//! `charts/NAME`. The label `outrigger.dev/origin` tells system addons from those of the user.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use outrigger_oci::{Descriptor, Digest, Manifest, chart_layer, version_of_tag};
use serde_json::{Map, Value, json};

use super::{chart_upload, is_read};
use crate::answer::{Answer, Failure, bytes_answer, empty, json_answer, set};
use crate::body::Body;
use crate::server::Context;
use crate::store::{Store, StoreError};

/// The annotation that tells system addons from charts of the user.
pub(crate) const ORIGIN: &str = "outrigger.dev/origin";

/// The repositories that the chart API pushes to.
pub(crate) const PREFIX: &str = "charts";

/// The largest metadata of a chart in the index.
pub(super) const MAX_METADATA: u64 = 256 << 10;

/// Bytes of the metadata of all charts in the index.
const MAX_METADATA_TOTAL: u64 = 64 << 20;

/// The index of all charts, rebuilt when a tag changed.
#[derive(Debug, Default)]
pub(crate) struct ChartIndex {
    cached: Mutex<Option<(u64, Arc<Charts>)>>,
    /// Held while the index is rebuilt, so that the others wait for the result
    building: tokio::sync::Mutex<()>,
    /// Held while an uploaded chart is stored
    saving: Mutex<()>,
}

/// All charts, newest first, by name.
#[derive(Debug)]
pub(super) struct Charts {
    pub(super) by_name: BTreeMap<String, Vec<ChartVersion>>,
    /// `/index.yaml`
    root_index: OnceLock<Bytes>,
    /// `/charts/index.yaml`
    folder_index: OnceLock<Bytes>,
}

/// The folder of an index. The URLs in the index are relative to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexFolder {
    Root,
    Charts,
}

impl Charts {
    fn index(&self, folder: IndexFolder) -> Bytes {
        let cached = match folder {
            IndexFolder::Root => &self.root_index,
            IndexFolder::Charts => &self.folder_index,
        };
        cached.get_or_init(|| self.write_index(folder)).clone()
    }

    fn write_index(&self, folder: IndexFolder) -> Bytes {
        let entries = |(name, versions): (&String, &Vec<ChartVersion>)| {
            let entries = versions.iter().map(|chart| chart.entry_in(folder, name));
            (name.clone(), entries.collect())
        };
        let entries: Map<String, Value> = self.by_name.iter().map(entries).collect();
        let index =
            json!({"apiVersion": "v1", "entries": entries, "generated": "1970-01-01T00:00:00Z"});
        Bytes::from(outrigger_goyaml::write_json(&index))
    }
}

#[derive(Debug, Clone)]
pub(super) struct ChartVersion {
    pub(super) repository: String,
    pub(super) version: String,
    pub(super) manifest: Digest,
    archive: Descriptor,
    entry: Value,
    metadata_size: u64,
}

impl ChartVersion {
    fn entry_in(&self, folder: IndexFolder, name: &str) -> Value {
        let mut entry = self.entry.clone();
        if folder == IndexFolder::Charts {
            entry["urls"] = json!([format!("{name}-{}.tgz", self.version)]);
        }
        entry
    }
}

impl ChartIndex {
    /// Keeps other uploads of charts waiting.
    pub(super) fn saving(&self) -> MutexGuard<'_, ()> {
        self.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cached(&self, generation: u64) -> Option<Arc<Charts>> {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, charts) = cached.as_ref()?;
        (*of == generation).then(|| Arc::clone(charts))
    }

    fn rebuild(&self, store: &Store) -> Result<Arc<Charts>, StoreError> {
        let generation = store.generation();
        let charts = Arc::new(read_charts(store, MAX_METADATA_TOTAL)?);
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Some((generation, Arc::clone(&charts)));
        Ok(charts)
    }
}

fn read_charts(store: &Store, limit: u64) -> Result<Charts, StoreError> {
    let mut by_name: BTreeMap<String, Vec<ChartVersion>> = BTreeMap::new();
    let mut left = limit;
    for repository in store.repositories()? {
        for tag in store.tags(&repository)? {
            let Some((name, chart)) = read_chart(store, &repository, &tag)? else {
                continue;
            };
            left = left
                .checked_sub(chart.metadata_size)
                .ok_or(StoreError::IndexTooLarge { limit })?;
            by_name.entry(name).or_default().push(chart);
        }
    }
    for (name, versions) in &mut by_name {
        keep_one_of_each(name, versions);
    }
    Ok(Charts {
        by_name,
        root_index: OnceLock::new(),
        folder_index: OnceLock::new(),
    })
}

/// Sorts the versions of a chart. A version that several repositories have is that of the chart API, else of the first one:
/// what the index says of it is then what its URL leads to.
fn keep_one_of_each(name: &str, versions: &mut Vec<ChartVersion>) {
    let own = format!("{PREFIX}/{name}");
    versions.sort_by(|a, b| {
        let order = compare(&b.version, &a.version).then_with(|| a.version.cmp(&b.version));
        let is_own = |chart: &ChartVersion| chart.repository == own;
        order.then_with(|| is_own(b).cmp(&is_own(a)))
    });
    versions.dedup_by(|other, first| other.version == first.version);
}

/// Orders versions: by their numbers, then by their text.
fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    let key = |version: &str| {
        let (core, rest) = version.split_at(version.find(['-', '+']).unwrap_or(version.len()));
        let numbers: Vec<u64> = core
            .trim_start_matches('v')
            .split('.')
            .map(|part| part.parse().unwrap_or(0))
            .collect();
        (numbers, !rest.starts_with('-'), rest.to_owned())
    };
    key(a).cmp(&key(b))
}

fn read_chart(
    store: &Store,
    repository: &str,
    tag: &str,
) -> Result<Option<(String, ChartVersion)>, StoreError> {
    let Ok(manifest) = store
        .resolve_tag(repository, tag)
        .and_then(|digest| store.manifest(repository, &digest))
    else {
        return Ok(None);
    };
    let Ok(parsed) = Manifest::parse(&manifest.bytes, None) else {
        return Ok(None);
    };
    let (Some(layer), Some(config)) = (chart_layer(&parsed), &parsed.config) else {
        return Ok(None);
    };
    let Some(metadata) = store.metadata(config)? else {
        return Ok(None);
    };
    let name = metadata["name"].as_str().unwrap_or_default().to_owned();
    let version = metadata["version"]
        .as_str()
        .map_or_else(|| version_of_tag(tag), str::to_owned);
    if name.is_empty() || name.contains('/') {
        return Ok(None);
    }
    let mut entry = metadata;
    let created = store.pushed_at(&manifest.digest);
    let digest = layer.digest.hex();
    let origin = parsed
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(ORIGIN));
    if let Value::Object(fields) = &mut entry {
        fields.insert("digest".to_owned(), digest.into());
        fields.insert("created".to_owned(), created.into());
        fields.insert(
            "urls".to_owned(),
            json!([format!("charts/{name}-{version}.tgz")]),
        );
        if let (Some(origin), annotations) = (
            origin,
            fields.entry("annotations").or_insert_with(|| json!({})),
        ) {
            annotations[ORIGIN] = origin.clone().into();
        }
    }
    let chart = ChartVersion {
        repository: repository.to_owned(),
        version,
        manifest: manifest.digest,
        archive: layer.clone(),
        entry,
        metadata_size: config.size,
    };
    Ok(Some((name, chart)))
}

pub(super) async fn index(context: &Arc<Context>, folder: IndexFolder) -> Result<Answer, Failure> {
    let charts = list(context).await?;
    Ok(bytes_answer(
        StatusCode::OK,
        "application/x-yaml",
        charts.index(folder),
    ))
}

pub(super) async fn list(context: &Arc<Context>) -> Result<Arc<Charts>, Failure> {
    let index = &context.charts;
    if let Some(charts) = index.cached(context.store.generation()) {
        return Ok(charts);
    }
    let _building = index.building.lock().await;
    if let Some(charts) = index.cached(context.store.generation()) {
        return Ok(charts);
    }
    let shared = Arc::clone(context);
    context
        .blocking(move |store| shared.charts.rebuild(store))
        .await
}

/// An archive, `NAME-VERSION.tgz`.
pub(super) async fn archive(context: &Arc<Context>, file: String) -> Result<Answer, Failure> {
    let charts = list(context).await?;
    let found = charts.by_name.iter().find_map(|(name, versions)| {
        let version = file
            .strip_prefix(name)?
            .strip_prefix('-')?
            .strip_suffix(".tgz")?;
        versions.iter().find(|chart| chart.version == version)
    });
    let Some(chart) = found.cloned() else {
        return Err(Failure::new(
            StatusCode::NOT_FOUND,
            "NAME_UNKNOWN",
            format!("{file} does not exist"),
        ));
    };
    let size = chart.archive.size;
    let body = context
        .blocking(move |store| {
            let blob = store.open_blob(&chart.repository, &chart.archive.digest)?;
            Body::file(blob.file, 0, blob.size).map_err(|source| StoreError::Io {
                path: "blobs".into(),
                source,
            })
        })
        .await?;
    let mut answer = empty(StatusCode::OK);
    set(&mut answer, CONTENT_TYPE, "application/gzip");
    set(&mut answer, CONTENT_LENGTH, &size.to_string());
    *answer.body_mut() = body;
    Ok(answer)
}

pub(super) async fn api(
    context: &Arc<Context>,
    request: Request<Incoming>,
    name: Option<String>,
    version: Option<String>,
) -> Result<Answer, Failure> {
    match (request.method(), name, version) {
        (&Method::POST, None, None) => chart_upload::post(context, request).await,
        (&Method::DELETE, Some(name), Some(version)) => delete(context, &name, &version).await,
        (method, name, version) if is_read(method) => {
            let charts = list(context).await?;
            select(&charts, name.as_deref(), version.as_deref())
        }
        _ => Err(Failure::method()),
    }
}

fn select(charts: &Charts, name: Option<&str>, version: Option<&str>) -> Result<Answer, Failure> {
    let entries = |versions: &[ChartVersion]| -> Value {
        versions.iter().map(|chart| chart.entry.clone()).collect()
    };
    let not_found = || {
        Failure::new(
            StatusCode::NOT_FOUND,
            "NAME_UNKNOWN",
            "the chart does not exist",
        )
    };
    let Some(name) = name else {
        let all: Map<String, Value> = charts
            .by_name
            .iter()
            .map(|(name, versions)| (name.clone(), entries(versions)))
            .collect();
        return Ok(json_answer(StatusCode::OK, Value::Object(all).to_string()));
    };
    let versions = charts.by_name.get(name).ok_or_else(not_found)?;
    let Some(version) = version else {
        return Ok(json_answer(StatusCode::OK, entries(versions).to_string()));
    };
    let chart = versions
        .iter()
        .find(|chart| chart.version == version)
        .ok_or_else(not_found)?;
    Ok(json_answer(StatusCode::OK, chart.entry.to_string()))
}

async fn delete(context: &Arc<Context>, name: &str, version: &str) -> Result<Answer, Failure> {
    let charts = list(context).await?;
    let chart = charts
        .by_name
        .get(name)
        .and_then(|versions| versions.iter().find(|chart| chart.version == version));
    let Some(chart) = chart.cloned() else {
        return Err(Failure::new(
            StatusCode::NOT_FOUND,
            "NAME_UNKNOWN",
            "the chart does not exist",
        ));
    };
    context
        .blocking(move |store| store.delete_manifest(&chart.repository, &chart.manifest))
        .await?;
    Ok(json_answer(
        StatusCode::OK,
        json!({"deleted": true}).to_string(),
    ))
}

impl Store {
    /// The metadata of a chart, from its config.
    fn metadata(&self, config: &Descriptor) -> Result<Option<Value>, StoreError> {
        if config.size > MAX_METADATA {
            return Ok(None);
        }
        let bytes = self.content(&config.digest)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut versions = ["1.10.0", "1.9.0", "1.10.0-rc.1", "v2.0.0", "1.9.0+b"];
        versions.sort_by(|a, b| compare(a, b));
        assert_eq!(
            versions,
            ["1.9.0", "1.9.0+b", "1.10.0-rc.1", "1.10.0", "v2.0.0"]
        );
    }
}
