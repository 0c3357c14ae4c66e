//! Test charts and indexes.

use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_repository::{Fetcher, Options, Request};
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::time::Duration;

pub(crate) fn chart_yaml(name: &str, version: &str) -> String {
    format!("apiVersion: v2\nname: {name}\nversion: {version}\n")
}

/// A `.tgz` of files in a directory `root`.
pub(crate) fn pack(root: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append_data(&mut header, format!("{root}/{name}"), text.as_bytes())
            .unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

pub(crate) fn archive(name: &str, version: &str) -> Vec<u8> {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n";
    let chart = chart_yaml(name, version);
    pack(
        name,
        &[("Chart.yaml", &chart), ("templates/config.yaml", config)],
    )
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One entry of an index.
pub(crate) struct IndexEntry {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) url: String,
    pub(crate) digest: Option<String>,
}

impl IndexEntry {
    /// An entry with the correct digest.
    pub(crate) fn of(name: &'static str, version: &'static str) -> Self {
        Self {
            name,
            version,
            url: format!("{name}-{version}.tgz"),
            digest: Some(sha256(&archive(name, version))),
        }
    }
}

pub(crate) fn index(entries: &[IndexEntry]) -> String {
    let mut text = "apiVersion: v1\nentries:\n".to_owned();
    let mut names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
    names.dedup();
    for name in names {
        text.push_str(&format!("  {name}:\n"));
        for entry in entries.iter().filter(|entry| entry.name == name) {
            text.push_str(&format!(
                "  - name: {name}\n    version: {}\n    urls: ['{}']\n",
                entry.version, entry.url
            ));
            if let Some(digest) = &entry.digest {
                text.push_str(&format!("    digest: {digest}\n"));
            }
        }
    }
    text
}

/// A fetcher with short timeouts and an optional cache.
pub(crate) fn fetcher(cache: Option<&Path>) -> Fetcher {
    Fetcher::new(options(cache))
}

pub(crate) fn options(cache: Option<&Path>) -> Options {
    Options {
        cache: cache.map(Path::to_owned),
        max_attempts: 3,
        initial_backoff: Duration::from_millis(1),
        read_timeout: Duration::from_secs(5),
        index_ttl: Duration::ZERO,
        ..Options::default()
    }
}

pub(crate) fn request(repo: &str, chart: &str, version: &str) -> Request {
    Request {
        repo: repo.to_owned(),
        chart: chart.to_owned(),
        version: Some(version.to_owned()).filter(|version| !version.is_empty()),
        ..Request::default()
    }
}
