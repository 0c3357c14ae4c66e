//! Charts on this machine: a chart folder, an archive, a folder of charts, or a Helm repository on disk.

use std::path::{Path, PathBuf};

use crate::digest::{self, Hasher};
use crate::index::{Entry, Index, near_names, newest_first, pick};
use crate::source::is_archive;
use crate::{Error, Request};

/// Folders may nest this deep: a link to a parent must not loop for ever.
const MAX_DEPTH: usize = 32;

/// A chart that was found, not loaded yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Folder(PathBuf),
    Archive {
        path: PathBuf,
        /// What the index says of it
        digest: Option<String>,
    },
}

/// Looks for the chart that a request asks for.
pub(crate) fn find(place: &Path, request: &Request) -> Result<Found, Error> {
    let shown = place.display().to_string();
    let kind = fs_err::metadata(place).map_err(|_| not_found(&shown, request, Vec::new()))?;
    if kind.is_file() {
        return Ok(archive(place.to_owned()));
    }
    let root = match request.path.as_deref().filter(|path| !path.is_empty()) {
        Some(path) => inside(place, path)?,
        None => place.to_owned(),
    };
    if root.join("Chart.yaml").is_file() {
        return Ok(Found::Folder(root));
    }
    if root.join("index.yaml").is_file() {
        return find_in_index(&root, request);
    }
    find_among(&root, request)
}

/// A folder below another one.
pub(crate) fn inside(place: &Path, path: &str) -> Result<PathBuf, Error> {
    let escapes = path.starts_with('/') || path.split('/').any(|part| part == "..");
    let folder = place.join(path);
    if escapes || !folder.is_dir() {
        return Err(Error::NoPath {
            place: place.display().to_string(),
            path: path.to_owned(),
        });
    }
    Ok(folder)
}

fn archive(path: PathBuf) -> Found {
    Found::Archive { path, digest: None }
}

fn not_found(place: &str, request: &Request, nearest: Vec<String>) -> Error {
    Error::NotFound {
        place: place.to_owned(),
        chart: request.chart.clone(),
        version: request.version.clone(),
        nearest,
    }
}

fn find_in_index(root: &Path, request: &Request) -> Result<Found, Error> {
    let shown = root.display().to_string();
    let index = Index::parse(&read(&root.join("index.yaml"))?, &shown)?;
    let entry = index.choose(&request.chart, request.version.as_deref(), &shown)?;
    // Wherever the archives were published, here they lie beside the index.
    let name = entry.urls.first().and_then(|url| url.rsplit('/').next());
    let path = root.join(name.unwrap_or_default());
    if !path.is_file() {
        return Err(not_found(&path.display().to_string(), request, Vec::new()));
    }
    Ok(Found::Archive {
        path,
        digest: entry.digest.clone(),
    })
}

/// Looks at chart folders and archives that lie beside each other.
fn find_among(root: &Path, request: &Request) -> Result<Found, Error> {
    let mut names = Vec::new();
    let mut candidates: Vec<(String, Found)> = Vec::new();
    for path in entries(root)? {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let Some((name, version)) = identity(&path) else {
                continue;
            };
            if name == request.chart {
                candidates.push((version, Found::Folder(path)));
            }
            names.push(name);
        } else if let Some(version) = version_in(&file, &request.chart) {
            candidates.push((version, archive(path)));
        }
    }
    if candidates.is_empty() {
        let mut error = not_found(&root.display().to_string(), request, Vec::new());
        if let Error::NotFound {
            version, nearest, ..
        } = &mut error
        {
            *version = None;
            *nearest = near_names(&request.chart, names.iter());
        }
        return Err(error);
    }
    candidates.sort_by(|one, other| newest_first(&one.0, &other.0));
    let versions: Vec<&str> = candidates
        .iter()
        .map(|(version, _)| version.as_str())
        .collect();
    if let Some(at) = pick(&versions, request.version.as_deref())? {
        return Ok(candidates.swap_remove(at).1);
    }
    let nearest = versions.into_iter().take(5).map(ToOwned::to_owned);
    let nearest = nearest.collect();
    Err(not_found(&root.display().to_string(), request, nearest))
}

/// All charts of a place, with a digest of the list.
pub(crate) fn catalogue(place: &Path) -> Result<(Index, String), Error> {
    if place.join("index.yaml").is_file() {
        let bytes = read(&place.join("index.yaml"))?;
        let index = Index::parse(&bytes, &place.display().to_string())?;
        return Ok((index, digest::of(&bytes)));
    }
    let paths = match identity(place) {
        Some(_) => vec![place.to_owned()],
        None => entries(place)?,
    };
    let mut index = Index::default();
    let mut hasher = Hasher::default();
    for (name, version) in paths.iter().filter_map(|path| identified(path)) {
        hasher.add_part(name.as_bytes());
        hasher.add_part(version.as_bytes());
        let entry = Entry {
            version,
            ..Entry::default()
        };
        index.charts.entry(name).or_default().push(entry);
    }
    for entries in index.charts.values_mut() {
        entries.sort_by(|one, other| newest_first(&one.version, &other.version));
    }
    Ok((index, hasher.finish()))
}

/// The name and version of a chart folder, or of an archive by its name.
fn identified(path: &Path) -> Option<(String, String)> {
    if path.is_dir() {
        return identity(path);
    }
    let file = path.file_name()?.to_str()?;
    let dashes = file.match_indices('-');
    let mut names = dashes.map(|(at, _)| &file[..at]);
    names.find_map(|name| Some((name.to_owned(), version_in(file, name)?)))
}

/// The name and version that a chart folder says.
fn identity(folder: &Path) -> Option<(String, String)> {
    let text = fs_err::read(folder.join("Chart.yaml")).ok()?;
    let chart = outrigger_goyaml::parse_json(&text).ok()?;
    let field = |name: &str| Some(chart[name].as_str()?.to_owned());
    Some((field("name")?, field("version")?))
}

/// The version in the name of an archive of this chart.
fn version_in(file: &str, chart: &str) -> Option<String> {
    if !is_archive(file) {
        return None;
    }
    let version = file.strip_prefix(chart)?.strip_prefix('-')?;
    let version = version
        .strip_suffix(".tgz")
        .or_else(|| version.strip_suffix(".tar.gz"))?;
    let is_version = version
        .trim_start_matches('v')
        .starts_with(|c: char| c.is_ascii_digit());
    is_version.then(|| version.to_owned())
}

/// The digest of all files of a folder, with their names.
pub(crate) fn digest_of_folder(folder: &Path) -> Result<String, Error> {
    let mut hasher = Hasher::default();
    for (name, path) in files(folder)? {
        hasher.add_part(name.as_bytes());
        hasher.add_part(&read(&path)?);
    }
    Ok(hasher.finish())
}

/// The bytes of an archive, checked against what an index says of it.
pub(crate) fn read_archive(
    path: &Path,
    expected: Option<&str>,
) -> Result<(Vec<u8>, String), Error> {
    let bytes = read(path)?;
    let found = digest::of(&bytes);
    match expected {
        Some(expected) if expected != found => Err(Error::DigestMismatch {
            url: path.display().to_string(),
            expected: expected.to_owned(),
            found,
        }),
        _ => Ok((bytes, found)),
    }
}

/// All files below a folder, by their names relative to it, in order.
pub(crate) fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), folder.to_owned(), 0)];
    while let Some((prefix, folder, depth)) = folders.pop() {
        for path in entries(&folder)? {
            let file = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let name = format!("{prefix}{file}");
            if path.is_dir() {
                if depth < MAX_DEPTH {
                    folders.push((format!("{name}/"), path, depth + 1));
                }
            } else {
                found.push((name, path));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs_err::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}
