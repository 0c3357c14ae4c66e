//! The index of a Helm repository: what is in it, and which version is meant. Pure, by Helm's rules.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use outrigger_gostd::semver::{Constraint, Version};
use serde_json::Value;
use url::Url;

use crate::Error;
use crate::error::shown;

/// What a repository has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// The charts by name, each with its versions, newest first
    pub charts: BTreeMap<String, Vec<Entry>>,
}

/// One version of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    pub version: String,
    pub app_version: String,
    pub description: String,
    /// Where its archive is, relative to the repository or absolute
    pub urls: Vec<String>,
    /// The SHA-256 of its archive, if the index says
    pub digest: Option<String>,
    pub deprecated: bool,
    pub annotations: BTreeMap<String, String>,
}

/// So many versions are named when the wanted one is missing.
const NEAREST: usize = 5;

impl Index {
    /// Reads an index as Helm does: entries that make no sense are left out, the whole must have an `apiVersion`.
    pub fn parse(bytes: &[u8], place: &str) -> Result<Self, Error> {
        let bad = |line: Option<usize>, reason: String| Error::BadIndex {
            url: place.to_owned(),
            line,
            reason,
        };
        let value = outrigger_goyaml::parse_json(bytes)
            .map_err(|error| bad(line_of(&error), error.to_string()))?;
        if !value.is_object() {
            return Err(bad(None, "it is no map".to_owned()));
        }
        if value["apiVersion"].as_str().unwrap_or_default().is_empty() {
            return Err(bad(None, "no API version specified".to_owned()));
        }
        let entries = match &value["entries"] {
            Value::Null => return Ok(Self::default()),
            Value::Object(entries) => entries,
            _ => return Err(bad(None, "entries is no map".to_owned())),
        };
        let mut charts = BTreeMap::new();
        for (name, versions) in entries {
            let versions = versions.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut versions: Vec<Entry> = versions.iter().filter_map(Entry::read).collect();
            versions.sort_by(|one, other| newest_first(&one.version, &other.version));
            charts.insert(name.clone(), versions);
        }
        Ok(Self { charts })
    }

    /// The version of a chart that is meant: the exact one, else the newest in the range, else the newest release.
    pub fn choose(&self, chart: &str, version: Option<&str>, place: &str) -> Result<&Entry, Error> {
        let versions = self
            .charts
            .get(chart)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if versions.is_empty() {
            return Err(Error::NotFound {
                place: place.to_owned(),
                chart: chart.to_owned(),
                version: None,
                nearest: near_names(chart, self.charts.keys()),
            });
        }
        let texts: Vec<&str> = versions
            .iter()
            .map(|entry| entry.version.as_str())
            .collect();
        match pick(&texts, version)? {
            Some(at) => Ok(&versions[at]),
            None => Err(Error::NotFound {
                place: place.to_owned(),
                chart: chart.to_owned(),
                version: version.map(ToOwned::to_owned),
                nearest: texts
                    .iter()
                    .take(NEAREST)
                    .map(|text| (*text).to_owned())
                    .collect(),
            }),
        }
    }
}

impl Entry {
    /// None for what is no version of a chart.
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| match &value[name] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let version = text("version");
        Version::parse(&version).ok()?;
        let urls = value["urls"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let annotations = value["annotations"].as_object().into_iter().flatten();
        Some(Self {
            version,
            app_version: text("appVersion"),
            description: text("description"),
            urls: urls
                .iter()
                .filter_map(|url| Some(url.as_str()?.to_owned()))
                .collect(),
            digest: Some(crate::digest::hex(&text("digest"))).filter(|digest| !digest.is_empty()),
            deprecated: value["deprecated"].as_bool().unwrap_or_default(),
            annotations: annotations
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect(),
        })
    }
}

/// Which of the versions, newest first, is meant.
pub(crate) fn pick(versions: &[&str], wanted: Option<&str>) -> Result<Option<usize>, Error> {
    let wanted = wanted.filter(|wanted| !wanted.is_empty());
    let range = wanted.unwrap_or("*");
    let constraint = Constraint::parse(range).map_err(|error| Error::BadRange {
        version: range.to_owned(),
        reason: error.to_string(),
    })?;
    if let Some(exact) = versions.iter().position(|version| Some(*version) == wanted) {
        return Ok(Some(exact));
    }
    let fits =
        |version: &&str| Version::parse(version).is_ok_and(|version| constraint.check(&version));
    Ok(versions.iter().position(fits))
}

pub(crate) fn newest_first(one: &str, other: &str) -> Ordering {
    match (Version::parse(one), Version::parse(other)) {
        (Ok(one), Ok(other)) => other.compare(&one),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => Ordering::Equal,
    }
}

/// The address of an archive, as Helm resolves it: relative ones are below the repository and keep its query.
pub(crate) fn resolve(repository: &Url, reference: &str) -> Result<Url, Error> {
    let bad = |reason: String| Error::BadIndex {
        url: shown(repository),
        line: None,
        reason,
    };
    if let Ok(absolute) = Url::parse(reference) {
        return match absolute.scheme() {
            "http" | "https" => Ok(absolute),
            other => Err(bad(format!("an archive has a URL with scheme {other}"))),
        };
    }
    let mut base = repository.clone();
    let path = format!("{}/", base.path().trim_end_matches('/'));
    base.set_path(&path);
    let mut resolved = base
        .join(reference)
        .map_err(|error| bad(format!("the URL of an archive cannot be read: {error}")))?;
    resolved.set_query(repository.query());
    Ok(resolved)
}

/// The address of the index.
pub(crate) fn address(repository: &Url) -> Url {
    let mut url = repository.clone();
    let path = format!("{}/index.yaml", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

/// The names that somebody may have meant: those that hold the word or are held by it, and slips of the keyboard.
pub(crate) fn near_names<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let alike = |other: &&String| {
        let is_part = other.contains(name) || name.contains(other.as_str());
        let slips = strsim::levenshtein(name, other);
        is_part || slips <= 2.max(name.len() / 4) && slips < name.len().min(other.len())
    };
    names.filter(alike).take(NEAREST).cloned().collect()
}

fn line_of(error: &outrigger_goyaml::Error) -> Option<usize> {
    match error {
        outrigger_goyaml::Error::Syntax { line, .. } => Some(line.unwrap_or(1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
