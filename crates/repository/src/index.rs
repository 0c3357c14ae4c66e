//! The index of a Helm repository, and the selection of versions by Helm's rules. Pure.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use outrigger_gostd::semver::{Constraint, Version};
use url::Url;

use self::node::{MAX_DEPTH, Node, NodeBuilder};
use crate::Error;
use outrigger_transport::redact;

mod node;

/// The parsed `index.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// Charts by name, each with its versions, newest first
    pub charts: BTreeMap<String, Vec<Entry>>,
}

/// What is needed of one version of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    pub version: String,
    pub app_version: String,
    pub description: String,
    /// First URL of the archive, absolute or relative to the repository
    pub url: Option<String>,
    /// SHA-256 of the archive, if the index has it
    pub digest: Option<String>,
    pub deprecated: bool,
}

/// The maximum number of suggestions in an error.
const MAX_SUGGESTIONS: usize = 5;

impl Index {
    /// Parses an index as Helm does: invalid entries are skipped, `apiVersion` is mandatory.
    pub fn parse(bytes: &[u8], location: &str) -> Result<Self, Error> {
        let invalid = |line: Option<usize>, reason: String| Error::InvalidIndex {
            url: location.to_owned(),
            line,
            reason,
        };
        let document = outrigger_goyaml::parse_to_depth(bytes, &mut NodeBuilder, MAX_DEPTH)
            .map_err(|error| invalid(line_of(&error), error.to_string()))?;
        let Node::Map(fields) = document else {
            return Err(invalid(None, "not a map".to_owned()));
        };
        let (mut api_version, mut entries) = (Node::Other, Node::Other);
        for (key, value) in fields {
            match key.as_str() {
                "apiVersion" => api_version = value,
                "entries" => entries = value,
                _ => {}
            }
        }
        if !matches!(api_version, Node::Text(text) if !text.is_empty()) {
            return Err(invalid(None, "no API version specified".to_owned()));
        }
        let entries = match entries {
            Node::Other => return Ok(Self::default()),
            Node::Map(entries) => entries,
            _ => return Err(invalid(None, "entries is not a map".to_owned())),
        };
        let mut charts = BTreeMap::new();
        for (name, versions) in entries {
            let Node::List(versions) = versions else {
                charts.insert(name, Vec::new());
                continue;
            };
            let mut entries = Vec::with_capacity(versions.len());
            entries.extend(versions.into_iter().filter_map(Node::into_entry));
            entries.sort_by(|a, b| newest_first(&a.version, &b.version));
            charts.insert(name, entries);
        }
        Ok(Self { charts })
    }

    /// The memory that the index takes, roughly.
    pub(crate) fn size(&self) -> usize {
        let charts = self.charts.iter().map(|(name, versions)| {
            let unused = versions.capacity() - versions.len();
            let versions: usize = versions.iter().map(Entry::size).sum();
            size_of::<(String, Vec<Entry>)>() + name.len() + versions + unused * size_of::<Entry>()
        });
        charts.sum()
    }

    /// Selects a version of a chart: the exact one, else the newest in the range, by default the newest release.
    pub fn get(&self, chart: &str, version: Option<&str>, location: &str) -> Result<&Entry, Error> {
        let versions = self
            .charts
            .get(chart)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if versions.is_empty() && self.charts.contains_key(chart) {
            return Err(Error::NoValidVersion {
                location: location.to_owned(),
                chart: chart.to_owned(),
            });
        }
        if versions.is_empty() {
            return Err(Error::NotFound {
                location: location.to_owned(),
                chart: chart.to_owned(),
                version: None,
                nearest: similar_names(chart, self.charts.keys()),
            });
        }
        let texts: Vec<&str> = versions
            .iter()
            .map(|entry| entry.version.as_str())
            .collect();
        match select(&texts, version)? {
            Some(index) => Ok(&versions[index]),
            None => Err(Error::NotFound {
                location: location.to_owned(),
                chart: chart.to_owned(),
                version: version.map(ToOwned::to_owned),
                nearest: texts
                    .iter()
                    .take(MAX_SUGGESTIONS)
                    .map(|text| (*text).to_owned())
                    .collect(),
            }),
        }
    }
}

impl Entry {
    /// The memory that it takes, roughly.
    fn size(&self) -> usize {
        let texts = [&self.version, &self.app_version, &self.description];
        let texts = texts.into_iter().chain(&self.url).chain(&self.digest);
        size_of::<Self>() + texts.map(String::len).sum::<usize>()
    }
}

/// Selects one of the versions, which are sorted newest first.
pub(crate) fn select(versions: &[&str], requested: Option<&str>) -> Result<Option<usize>, Error> {
    let requested = requested.filter(|requested| !requested.is_empty());
    let range = requested.unwrap_or("*");
    let constraint = Constraint::parse(range).map_err(|error| Error::InvalidRange {
        version: range.to_owned(),
        reason: error.to_string(),
    })?;
    let exact = versions
        .iter()
        .position(|version| Some(*version) == requested);
    if exact.is_some() {
        return Ok(exact);
    }
    let satisfies =
        |version: &&str| Version::parse(version).is_ok_and(|version| constraint.check(&version));
    Ok(versions.iter().position(satisfies))
}

pub(crate) fn newest_first(a: &str, b: &str) -> Ordering {
    match (Version::parse(a), Version::parse(b)) {
        (Ok(a), Ok(b)) => b.compare(&a),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => Ordering::Equal,
    }
}

/// Resolves the URL of an archive as Helm does: a relative one is below the repository and keeps its query.
pub(crate) fn resolve(repository: &Url, reference: &str) -> Result<Url, Error> {
    let invalid = |reason: String| Error::InvalidIndex {
        url: redact(repository),
        line: None,
        reason,
    };
    if let Ok(absolute) = Url::parse(reference) {
        return match absolute.scheme() {
            "http" | "https" => Ok(absolute),
            other => Err(invalid(format!(
                "the URL of an archive has the unsupported scheme {other}"
            ))),
        };
    }
    let mut base = repository.clone();
    let path = format!("{}/", base.path().trim_end_matches('/'));
    base.set_path(&path);
    let mut resolved = base
        .join(reference)
        .map_err(|error| invalid(format!("the URL of an archive is invalid: {error}")))?;
    resolved.set_query(repository.query());
    Ok(resolved)
}

/// The URL of the index.
pub(crate) fn url(repository: &Url) -> Url {
    let mut url = repository.clone();
    let path = format!("{}/index.yaml", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

/// Suggestions for a name: names that contain it, that it contains, or that have a small edit distance.
pub(crate) fn similar_names<'a>(
    name: &str,
    names: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let is_similar = |other: &&String| {
        let is_part = other.contains(name) || name.contains(other.as_str());
        let distance = strsim::levenshtein(name, other);
        is_part || distance <= 2.max(name.len() / 4) && distance < name.len().min(other.len())
    };
    // Sorted, and each once: a folder may have several versions of a chart.
    let similar: BTreeSet<&String> = names
        .filter(|other| *other != name)
        .filter(is_similar)
        .collect();
    similar.into_iter().take(MAX_SUGGESTIONS).cloned().collect()
}

fn line_of(error: &outrigger_goyaml::Error) -> Option<usize> {
    match error {
        outrigger_goyaml::Error::Syntax { line, .. } => Some(line.unwrap_or(1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
