//! Records as Secrets, and what is done with a record that is too large for one.
//!
//! A Secret holds 1 MiB. A record that does not fit loses the chart's files and templates, which Helm can do without.
//! If it still does not fit, the Secret that Helm reads names all objects but describes only those that fit, so that
//! `helm list`, `status`, `history` and `uninstall` go on working. The whole record then lies in further Secrets that
//! Helm does not look at; they belong to the first one and go with it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Record, StoredChart, payload, skeleton};

/// The type of Secrets with records.
const TYPE: &str = "helm.sh/release.v1";
/// The type of Secrets with parts of records.
const PART_TYPE: &str = "outrigger.dev/release-part";
/// Says on the first Secret how many parts there are.
const PARTS: &str = "outrigger.dev/parts";
/// What the data of a Secret may take, with some room.
pub(crate) const MAX_BYTES: usize = (1 << 20) - (16 << 10);
/// Labels that are not the user's.
const SYSTEM_LABELS: [&str; 6] = [
    "name",
    "owner",
    "status",
    "version",
    "createdAt",
    "modifiedAt",
];

/// A record in the form in which it is stored.
#[derive(Debug)]
pub(crate) struct Stored {
    /// What Helm reads.
    pub(crate) secret: Value,
    /// The data of the other Secrets, none if the first holds all.
    pub(crate) parts: Vec<Vec<u8>>,
}

/// The name of the Secret of a revision.
pub(crate) fn name(release: &str, revision: u32) -> String {
    format!("{}{revision}", prefix(release))
}

/// What the names of all Secrets of a release begin with.
pub(crate) fn prefix(release: &str) -> String {
    format!("sh.helm.release.v1.{release}.v")
}

/// The name of a Secret with a part.
pub(crate) fn part_name(release: &str, revision: u32, part: usize) -> String {
    format!("{}.part{part}", name(release, revision))
}

/// Which label tells when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Create,
    Update,
}

/// The Secrets of a record.
pub(crate) fn store(record: &Record, writing: Writing, now: Timestamp) -> Stored {
    store_within(record, writing, now, MAX_BYTES)
}

pub(crate) fn store_within(
    record: &Record,
    writing: Writing,
    now: Timestamp,
    max_bytes: usize,
) -> Stored {
    let rest = payload::compress_rest(record);
    let in_one = |chart: &StoredChart| {
        let text = payload::encode(&payload::join(chart, &rest));
        (text.len() <= max_bytes).then(|| Stored {
            secret: secret(record, &text, 0, writing, now),
            parts: Vec::new(),
        })
    };
    if let Some(stored) = in_one(&record.chart) {
        return stored;
    }
    let smaller = Record {
        chart: record.chart.without_files(),
        ..record.clone()
    };
    if let Some(stored) = in_one(&smaller.chart) {
        return stored;
    }
    let first = skeleton::shrink(&smaller, max_bytes);
    let bytes = payload::join(&smaller.chart, &rest);
    let parts: Vec<Vec<u8>> = bytes.chunks(max_bytes).map(<[u8]>::to_vec).collect();
    Stored {
        secret: secret(record, &first, parts.len(), writing, now),
        parts,
    }
}

fn secret(record: &Record, text: &str, parts: usize, writing: Writing, now: Timestamp) -> Value {
    let mut labels = record.labels.clone();
    let written = match writing {
        Writing::Create => "createdAt",
        Writing::Update => "modifiedAt",
    };
    let system = [
        ("name", record.id.name.clone()),
        ("owner", "helm".to_owned()),
        ("status", record.info.status.name().to_owned()),
        ("version", record.revision.to_string()),
        (written, now.as_second().to_string()),
    ];
    labels.extend(system.map(|(key, value)| (key.to_owned(), value)));
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name(&record.id.name, record.revision),
            "namespace": record.id.namespace,
            "labels": labels,
        },
        "type": TYPE,
        "data": {"release": STANDARD.encode(text)},
    });
    if parts > 0 {
        secret["metadata"]["annotations"] = json!({PARTS: parts.to_string()});
    }
    secret
}

/// A Secret with a part. `owner` is the first Secret as the server keeps it.
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

/// How many parts belong to the Secret of a record.
pub(crate) fn parts(secret: &Value) -> usize {
    let parts = &secret["metadata"]["annotations"][PARTS];
    parts
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// The bytes of a part.
pub(crate) fn part_data(secret: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(secret["data"]["part"].as_str()?).ok()
}

/// Reads the Secret of a record, without its parts.
pub(crate) fn read(secret: &Value) -> Result<Record, String> {
    let data = secret["data"]["release"].as_str().unwrap_or_default();
    let text = STANDARD.decode(data).map_err(|error| error.to_string())?;
    let mut record = payload::decode(&text)?;
    record.labels = user_labels(secret);
    record.is_skeleton = parts(secret) > 0;
    Ok(record)
}

/// Puts the parts in place of what the first Secret could not hold; the status of the first is newer.
pub(crate) fn complete(first: Record, parts: &[Vec<u8>]) -> Result<Record, String> {
    let whole = payload::decompress(&parts.concat())?;
    Ok(Record {
        manifest: whole.manifest,
        config: whole.config,
        hooks: whole.hooks,
        chart: whole.chart,
        is_skeleton: false,
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
