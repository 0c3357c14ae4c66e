//! The payload of a release record: JSON, gzip, base64.
//!
//! The chart is a separate gzip member, because many records share it and each record is written twice. Gzip decoders,
//! including Go's, concatenate the members.

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

/// Maximum size of decompressed records. Helm has no limit. Larger ones are not written either.
pub(crate) const MAX_DECOMPRESSED_BYTES: usize = 32 << 20;

/// All fields of a record except the chart.
#[derive(Serialize)]
struct WithoutChart<'a> {
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
struct Stored {
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

/// Why a release record cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the record is not valid base64")]
    Base64(#[source] base64::DecodeError),
    #[error("failed to decompress the record")]
    Gzip(#[source] std::io::Error),
    #[error("the record has more than {} MiB when it is decompressed", MAX_DECOMPRESSED_BYTES >> 20)]
    TooLarge,
    #[error("the record is not valid JSON")]
    Json(#[source] serde_json::Error),
    #[error("the record was modified after it was written")]
    Modified,
    #[error("the record is that of revision {revision} of release {release}")]
    OtherRevision { release: String, revision: u32 },
}

pub(crate) fn compress(record: &Record) -> Vec<u8> {
    join(&record.chart, &compress_without_chart(record))
}

pub(crate) fn compress_without_chart(record: &Record) -> Vec<u8> {
    let fields = WithoutChart {
        name: &record.id.name,
        info: &record.info,
        config: &record.config,
        manifest: &record.manifest,
        hooks: &record.hooks,
        version: record.revision,
        namespace: &record.id.namespace,
        apply_method: &record.apply_method,
    };
    let json = serde_json::to_string(&fields).expect("records serialize to JSON");
    // A comma instead of the opening brace continues the object that the chart's member opens.
    gzip(&[b",", &json.as_bytes()[1..]])
}

/// Joins the compressed chart and the other compressed fields to a complete record.
pub(crate) fn join(chart: &StoredChart, without_chart: &[u8]) -> Vec<u8> {
    [chart.compressed(), without_chart].concat()
}

/// Joins the compressed chart and the other compressed fields to the text of a record; none if it exceeds a limit.
pub(crate) fn encode_within(
    chart: &StoredChart,
    without_chart: &[u8],
    max_bytes: usize,
) -> Option<String> {
    let members = [chart.compressed(), without_chart];
    let decompressed: usize = members.into_iter().map(decompressed_size).sum();
    let text = encode(&join(chart, without_chart));
    (text.len() <= max_bytes && decompressed <= MAX_DECOMPRESSED_BYTES).then_some(text)
}

/// The size of a gzip member when it is decompressed: its last four bytes.
fn decompressed_size(member: &[u8]) -> usize {
    let size = member.last_chunk().copied().map(u32::from_le_bytes);
    size.unwrap_or_default() as usize
}

pub(crate) fn encode(compressed: &[u8]) -> String {
    STANDARD.encode(compressed)
}

pub(crate) fn decode(text: &[u8]) -> Result<Record, DecodeError> {
    let bytes = STANDARD.decode(text).map_err(DecodeError::Base64)?;
    decompress(&bytes)
}

/// Decodes compressed JSON, or plain JSON as early versions of Helm wrote it.
pub(crate) fn decompress(bytes: &[u8]) -> Result<Record, DecodeError> {
    let mut json = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        let limit = MAX_DECOMPRESSED_BYTES as u64 + 1;
        let mut reader = MultiGzDecoder::new(bytes).take(limit);
        let read = reader.read_to_end(&mut json);
        read.map_err(DecodeError::Gzip)?;
        if json.len() > MAX_DECOMPRESSED_BYTES {
            return Err(DecodeError::TooLarge);
        }
    } else {
        json.extend_from_slice(bytes);
    }
    let stored: Stored = serde_json::from_slice(&json).map_err(DecodeError::Json)?;
    let chart = stored
        .chart
        .map(|chart| StoredChart::from_json(chart.get().to_owned()));
    Ok(Record {
        id: ReleaseId::new(stored.namespace, stored.name),
        revision: stored.version,
        info: stored.info,
        chart: chart.unwrap_or_else(|| StoredChart::from_summary(super::ChartSummary::default())),
        config: stored.config.unwrap_or_default(),
        manifest: stored.manifest,
        hooks: stored.hooks.unwrap_or_default(),
        apply_method: stored.apply_method,
        labels: std::collections::BTreeMap::new(),
        is_truncated: false,
        is_foreign: false,
        resource_version: None,
    })
}
