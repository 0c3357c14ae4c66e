//! Release records as Secrets.
//!
//! A Secret holds 1 MiB. A record that does not fit is stored without the files and templates of the chart, which Helm
//! does not need. If it still does not fit, the Secret that Helm reads has a truncated manifest: it lists all objects, but
//! the largest only by name, so that `helm list`, `status`, `history` and `uninstall` work. The complete record is stored
//! in further Secrets, the parts, which Helm ignores; the first Secret owns them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{DecodeError, Record, StoredChart, payload, truncate};
use crate::id::ReleaseId;

pub(crate) const TYPE: &str = "helm.sh/release.v1";
const PART_TYPE: &str = "outrigger.dev/release-part";
/// The annotation with the number of parts.
const PARTS: &str = "outrigger.dev/parts";
/// The annotation of records that we wrote last: Helm replaces a record without its annotations.
const WRITER: &str = "outrigger.dev/writer";
/// The annotation with the digest of the data that we wrote last.
const DIGEST: &str = "outrigger.dev/digest";
/// Maximum size of the data of a Secret, with some reserve.
pub(crate) const MAX_BYTES: usize = (1 << 20) - (16 << 10);
/// Enough for a record that cannot be compressed. The annotation with the number may be anything.
const MAX_PARTS: usize = payload::MAX_DECOMPRESSED_BYTES / MAX_BYTES + 1;
/// Labels that are not user-defined.
const SYSTEM_LABELS: [&str; 6] = [
    "name",
    "owner",
    "status",
    "version",
    "createdAt",
    "modifiedAt",
];

#[derive(Debug)]
pub(crate) struct EncodedRecord {
    /// The Secret that Helm reads.
    pub(crate) secret: Value,
    /// The data of the parts; empty if the record fits into one Secret.
    pub(crate) parts: Vec<Vec<u8>>,
}

/// The name of the Secret with the record of a revision.
pub fn name(release: &str, revision: u32) -> String {
    format!("{}{revision}", prefix(release))
}

/// The common prefix of the names of all Secrets of a release.
pub(crate) fn prefix(release: &str) -> String {
    format!("sh.helm.release.v1.{release}.v")
}

pub(crate) fn part_name(release: &str, revision: u32, part: usize) -> String {
    format!("{}.part{part}", name(release, revision))
}

/// Determines the label with the time of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Create,
    Update,
}

pub(crate) fn encode(record: &Record, write: Write, now: Timestamp) -> EncodedRecord {
    encode_within(record, write, now, MAX_BYTES)
}

pub(crate) fn encode_within(
    record: &Record,
    write: Write,
    now: Timestamp,
    max_bytes: usize,
) -> EncodedRecord {
    let without_chart = payload::compress_without_chart(record);
    let in_one_secret = |chart: &StoredChart| {
        let text = payload::encode_within(chart, &without_chart, max_bytes)?;
        Some(EncodedRecord {
            secret: secret(record, &text, 0, write, now),
            parts: Vec::new(),
        })
    };
    if let Some(encoded) = in_one_secret(&record.chart) {
        return encoded;
    }
    let smaller = Record {
        chart: record.chart.without_files(),
        ..record.clone()
    };
    if let Some(encoded) = in_one_secret(&smaller.chart) {
        return encoded;
    }
    let truncated = truncate::encode(&smaller, max_bytes);
    let complete = payload::join(&smaller.chart, &without_chart);
    let parts: Vec<Vec<u8>> = complete.chunks(max_bytes).map(<[u8]>::to_vec).collect();
    EncodedRecord {
        secret: secret(record, &truncated, parts.len(), write, now),
        parts,
    }
}

fn secret(record: &Record, text: &str, parts: usize, write: Write, now: Timestamp) -> Value {
    let mut labels = record.labels.clone();
    let time = match write {
        Write::Create => "createdAt",
        Write::Update => "modifiedAt",
    };
    let system = [
        ("name", record.id.name.clone()),
        ("owner", "helm".to_owned()),
        ("status", record.info.status.name().to_owned()),
        ("version", record.revision.to_string()),
        (time, now.as_second().to_string()),
    ];
    labels.extend(system.map(|(key, value)| (key.to_owned(), value)));
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name(&record.id.name, record.revision),
            "namespace": record.id.namespace,
            "labels": labels,
            "annotations": {WRITER: "outrigger", DIGEST: digest(text.as_bytes())},
        },
        "type": TYPE,
        "data": {"release": STANDARD.encode(text)},
    });
    if parts > 0 {
        secret["metadata"]["annotations"][PARTS] = parts.to_string().into();
    }
    secret
}

fn digest(data: &[u8]) -> String {
    let digest = Sha256::digest(data);
    digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Whether we wrote a record last, by its annotations.
pub fn is_own_record(annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.is_some_and(|annotations| annotations.contains_key(WRITER))
}

/// Whether the name of a Secret is that of the record that its labels describe.
pub(crate) fn is_named_as_labeled(secret: &Value, release: &str) -> bool {
    let metadata = &secret["metadata"];
    let revision = metadata["labels"]["version"].as_str().unwrap_or_default();
    metadata["name"].as_str() == Some(&*format!("{}{revision}", prefix(release)))
}

/// What a Secret with the name of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The valid record of the revision.
    Record,
    /// The record of the revision, with damaged data or labels.
    Damaged,
    /// A Secret of someone else.
    Foreign,
}

pub(crate) fn identify(secret: &Value, release: &ReleaseId, revision: u32) -> Found {
    if secret["type"] != TYPE {
        return Found::Foreign;
    }
    let metadata = &secret["metadata"];
    let has_labels =
        metadata["labels"]["owner"] == "helm" && metadata["labels"]["name"] == *release.name;
    let record = decode_revision(secret, release, revision);
    let is_ours = has_labels || record.is_ok() || !metadata["annotations"][WRITER].is_null();
    match (record, is_ours) {
        (Ok(_), _) if has_labels && is_named_as_labeled(secret, &release.name) => Found::Record,
        (_, true) => Found::Damaged,
        (_, false) => Found::Foreign,
    }
}

/// Decodes the Secret of a revision, without its parts.
pub(crate) fn decode_revision(
    secret: &Value,
    release: &ReleaseId,
    revision: u32,
) -> Result<Record, DecodeError> {
    let record = decode(secret)?;
    if record.revision != revision || record.id.name != release.name {
        return Err(DecodeError::OtherRevision {
            release: record.id.to_string(),
            revision: record.revision,
        });
    }
    Ok(record)
}

/// The Secret of a part. `owner` is the first Secret, with its uid.
pub(crate) fn part(record: &Record, number: usize, data: &[u8], owner: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": part_name(&record.id.name, record.revision, number),
            "namespace": record.id.namespace,
            "labels": {"name": record.id.name, "version": record.revision.to_string(), "owner": "outrigger"},
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Secret",
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            }],
        },
        "type": PART_TYPE,
        "data": {"part": STANDARD.encode(data)},
    })
}

/// The number of parts of a record. More than the largest record has are not read.
pub(crate) fn part_count(secret: &Value) -> usize {
    let parts = &secret["metadata"]["annotations"][PARTS];
    let count: Option<usize> = parts.as_str().and_then(|text| text.parse().ok());
    count.unwrap_or(0).min(MAX_PARTS)
}

pub(crate) fn part_data(secret: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(secret["data"]["part"].as_str()?).ok()
}

/// Decodes the Secret of a record, without its parts.
pub(crate) fn decode(secret: &Value) -> Result<Record, DecodeError> {
    let data = secret["data"]["release"].as_str().unwrap_or_default();
    let text = STANDARD.decode(data).map_err(DecodeError::Base64)?;
    let metadata = &secret["metadata"];
    let written = metadata["annotations"][DIGEST].as_str();
    if written.is_some_and(|written| written != digest(&text)) {
        return Err(DecodeError::Modified);
    }
    let mut record = payload::decode(&text)?;
    record.resource_version = metadata["resourceVersion"].as_str().map(str::to_owned);
    record.labels = user_labels(secret);
    record.is_truncated = part_count(secret) > 0;
    record.is_foreign = secret["metadata"]["annotations"][WRITER].is_null();
    Ok(record)
}

/// Completes a truncated record. Its info is more recent than that in the parts.
pub(crate) fn merge_parts(first: Record, parts: &[Vec<u8>]) -> Result<Record, DecodeError> {
    let complete = payload::decompress(&parts.concat())?;
    Ok(Record {
        manifest: complete.manifest,
        config: complete.config,
        hooks: complete.hooks,
        chart: complete.chart,
        is_truncated: false,
        ..first
    })
}

fn user_labels(secret: &Value) -> BTreeMap<String, String> {
    let labels = secret["metadata"]["labels"].as_object();
    labels
        .into_iter()
        .flatten()
        .filter(|(key, _)| !SYSTEM_LABELS.contains(&key.as_str()))
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
