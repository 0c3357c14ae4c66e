//! Splits rendered files into manifests and hooks, and sorts them in the order of installation.

pub mod hook;
pub mod kind_order;
pub mod split;

use std::collections::BTreeMap;

use hook::Hook;
use kind_order::KindOrder;

use crate::load::WarnFn;
use crate::profile::Profile;
use crate::yaml::{self, Head, ReadError};

/// An object that is not a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The path of its template, such as `app/templates/service.yaml`.
    pub path: String,
    pub content: String,
    pub api_version: String,
    pub kind: String,
    pub name: String,
}

#[derive(Debug, thiserror::Error)]
#[error("YAML parse error on {path}: {source}")]
pub struct Error {
    pub path: String,
    pub source: ReadError,
    /// All rendered files with their sources, which `helm template --debug` prints.
    pub rendered: String,
}

/// Splits rendered files into hooks and manifests, each sorted by kind.
pub fn sort(
    files: &BTreeMap<String, Vec<u8>>,
    profile: Profile,
    warn: WarnFn<'_>,
) -> Result<(Vec<Hook>, Vec<Manifest>), Error> {
    let mut hooks = Vec::new();
    let mut manifests = Vec::new();
    for (path, content) in files {
        if outrigger_gostd::path::base(path).starts_with('_') {
            continue;
        }
        let failed = |source| Error {
            path: path.clone(),
            source,
            rendered: with_sources(files),
        };
        let text = yaml::text(content).map_err(failed)?;
        for document in split::documents(&text, profile) {
            let head = yaml::head(document.as_bytes(), profile).map_err(failed)?;
            match hook::classify(path, document, &head, profile) {
                hook::Class::Hook(hook) => hooks.push(hook),
                hook::Class::Unknown(events) => warn(unknown_hook(path, &head, &events)),
                hook::Class::Manifest => manifests.push(Manifest::new(path, document, head)),
            }
        }
    }
    let order = KindOrder::install(profile);
    hooks.sort_by(|a, b| order.compare(&a.kind, &b.kind));
    manifests.sort_by(|a, b| order.compare(&a.kind, &b.kind));
    Ok((hooks, manifests))
}

/// The warning about an object that Helm drops.
fn unknown_hook(path: &str, head: &Head, events: &str) -> String {
    let Head { kind, name, .. } = head;
    format!("skipping {kind} {name:?} of {path}: unknown hook {events:?}")
}

/// The files that are not blank, as in the output of `helm template`.
fn with_sources(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut out = String::new();
    for (path, content) in files {
        let content = String::from_utf8_lossy(content);
        if !content.trim().is_empty() {
            out.push_str(&format!("---\n# Source: {path}\n{content}\n"));
        }
    }
    out
}

impl Manifest {
    fn new(path: &str, content: &str, head: Head) -> Self {
        Self {
            path: path.to_owned(),
            content: content.to_owned(),
            api_version: head.api_version,
            kind: head.kind,
            name: head.name,
        }
    }
}
