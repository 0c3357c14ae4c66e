//! The text of a record: JSON, compressed, in base64.
//!
//! The chart is a gzip member of its own, because many records share it and each record is written twice. Go's
//! reader, like ours, takes members for one stream.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::chart::{StoredChart, gzip};
use super::{Hook, Info, Record};
use crate::id::ReleaseId;

/// A record may expand to this much. Helm has no limit.
const MAX_BYTES: u64 = 256 << 20;

/// All of a record but the chart.
#[derive(Serialize)]
struct Rest<'a> {
    name: &'a str,
    info: &'a Info,
    #[serde(skip_serializing_if = "Map::is_empty")]
    config: &'a Map<String, Value>,
    manifest: &'a str,
    #[serde(skip_serializing_if = "<[Hook]>::is_empty")]
    hooks: &'a [Hook],
    version: u32,
    namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    apply_method: &'a str,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    name: String,
    #[serde(default)]
    info: Info,
    chart: Option<Box<RawValue>>,
    config: Option<Map<String, Value>>,
    #[serde(default)]
    manifest: String,
    hooks: Option<Vec<Hook>>,
    #[serde(default)]
    version: u32,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    apply_method: String,
}

/// The compressed JSON.
pub(crate) fn compress(record: &Record) -> Vec<u8> {
    join(&record.chart, &compress_rest(record))
}

/// The compressed JSON of all but the chart.
pub(crate) fn compress_rest(record: &Record) -> Vec<u8> {
    let rest = Rest {
        name: &record.id.name,
        info: &record.info,
        config: &record.config,
        manifest: &record.manifest,
        hooks: &record.hooks,
        version: record.revision,
        namespace: &record.id.namespace,
        apply_method: &record.apply_method,
    };
    let rest = serde_json::to_string(&rest).expect("all of it has a form in JSON");
    // The chart's member ends where the next field begins, in place of the brace.
    gzip(&[b",", &rest.as_bytes()[1..]])
}

/// Both parts of a record, one after the other.
pub(crate) fn join(chart: &StoredChart, rest: &[u8]) -> Vec<u8> {
    [chart.compressed(), rest].concat()
}

/// The same in base64, as Helm stores it.
pub(crate) fn encode(compressed: &[u8]) -> String {
    STANDARD.encode(compressed)
}

/// Reads what Helm stored.
pub(crate) fn decode(text: &[u8]) -> Result<Record, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    decompress(&bytes)
}

/// Reads compressed JSON, or plain JSON as early Helms wrote it.
pub(crate) fn decompress(bytes: &[u8]) -> Result<Record, String> {
    let mut json = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        let mut reader = MultiGzDecoder::new(bytes).take(MAX_BYTES);
        let read = reader.read_to_end(&mut json);
        read.map_err(|error| error.to_string())?;
    } else {
        json.extend_from_slice(bytes);
    }
    let whole: Whole = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    let chart = whole
        .chart
        .map(|chart| StoredChart::from_json(chart.get().to_owned()));
    Ok(Record {
        id: ReleaseId::new(whole.namespace, whole.name),
        revision: whole.version,
        info: whole.info,
        chart: chart.unwrap_or_else(|| StoredChart::named(super::Title::default())),
        config: whole.config.unwrap_or_default(),
        manifest: whole.manifest,
        hooks: whole.hooks.unwrap_or_default(),
        apply_method: whole.apply_method,
        labels: std::collections::BTreeMap::new(),
        is_skeleton: false,
    })
}
