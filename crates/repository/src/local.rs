//! Charts on the local disk: a chart directory, an archive, a directory of charts, or a Helm repository.

use std::path::{Path, PathBuf};

use outrigger_chart::File;
use outrigger_chart::load::{self, archive};

use crate::digest::{self, Hasher};
use crate::error::Limit;
use crate::index::{Entry, Index, newest_first, select, similar_names};
use crate::source::is_archive;
use crate::{Error, Request};

/// The maximum depth of directories, so that a symbolic link to a parent does not loop forever.
pub(crate) const MAX_DEPTH: usize = 32;

/// The maximum number of files and directories in a directory of charts or manifests.
pub(crate) const MAX_ENTRIES: usize = 100_000;

/// The maximum size of an index.
pub(crate) const MAX_INDEX: u64 = 128 << 20;

/// The path of a chart that is not loaded yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LocalChart {
    Directory(PathBuf),
    Archive {
        path: PathBuf,
        /// The digest in the index
        digest: Option<String>,
        /// The entry of the index
        entry: Option<Box<Entry>>,
    },
}

/// Finds the requested chart.
pub(crate) fn find(source: &Path, request: &Request) -> Result<LocalChart, Error> {
    let metadata = fs_err::metadata(source).map_err(|_| Error::Missing {
        path: source.to_owned(),
    })?;
    if metadata.is_file() {
        return Ok(local_archive(source.to_owned()));
    }
    let root = subdirectory(source, request.path.as_deref())?;
    if root.join("Chart.yaml").is_file() {
        return Ok(LocalChart::Directory(root));
    }
    if root.join("index.yaml").is_file() {
        return find_in_index(&root, request);
    }
    find_in_directory(&root, request)
}

/// The directory at a path inside the source, or the source itself without a path.
pub(crate) fn subdirectory(source: &Path, path: Option<&str>) -> Result<PathBuf, Error> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Ok(source.to_owned());
    };
    let escapes = path.starts_with('/') || path.split('/').any(|part| part == "..");
    let directory = source.join(path);
    if escapes || !directory.is_dir() {
        return Err(Error::PathNotFound {
            location: source.display().to_string(),
            path: path.to_owned(),
        });
    }
    Ok(directory)
}

fn local_archive(path: PathBuf) -> LocalChart {
    LocalChart::Archive {
        path,
        digest: None,
        entry: None,
    }
}

fn not_found(location: &str, request: &Request, nearest: Vec<String>) -> Error {
    Error::NotFound {
        location: location.to_owned(),
        chart: request.chart.clone(),
        version: request.version.clone(),
        nearest,
    }
}

fn find_in_index(root: &Path, request: &Request) -> Result<LocalChart, Error> {
    let location = root.display().to_string();
    let index = Index::parse(&read(&root.join("index.yaml"), MAX_INDEX)?, &location)?;
    let entry = index.get(&request.chart, request.version.as_deref(), &location)?;
    // The archives are beside the index, whatever their published URLs are.
    let name = entry.url.as_ref().and_then(|url| url.rsplit('/').next());
    let path = root.join(name.unwrap_or_default());
    if !path.is_file() {
        return Err(not_found(&path.display().to_string(), request, Vec::new()));
    }
    Ok(LocalChart::Archive {
        path,
        digest: entry.digest.clone(),
        entry: Some(Box::new(entry.clone())),
    })
}

/// Finds the chart among the chart directories and archives in a directory.
fn find_in_directory(root: &Path, request: &Request) -> Result<LocalChart, Error> {
    let mut names = Vec::new();
    let mut candidates: Vec<(String, LocalChart)> = Vec::new();
    for path in entries(root)? {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let Some((name, version)) = read_name_and_version(&path) else {
                continue;
            };
            if name == request.chart {
                candidates.push((version, LocalChart::Directory(path)));
            }
            names.push(name);
        } else if let Some(version) = version_of_archive(&file, &request.chart) {
            candidates.push((version, local_archive(path)));
        }
    }
    if candidates.is_empty() {
        let mut error = not_found(&root.display().to_string(), request, Vec::new());
        if let Error::NotFound {
            version, nearest, ..
        } = &mut error
        {
            *version = None;
            *nearest = similar_names(&request.chart, names.iter());
        }
        return Err(error);
    }
    candidates.sort_by(|a, b| newest_first(&a.0, &b.0));
    let versions: Vec<&str> = candidates
        .iter()
        .map(|(version, _)| version.as_str())
        .collect();
    if let Some(index) = select(&versions, request.version.as_deref())? {
        return Ok(candidates.swap_remove(index).1);
    }
    let nearest = versions.into_iter().take(5).map(ToOwned::to_owned);
    let nearest = nearest.collect();
    Err(not_found(&root.display().to_string(), request, nearest))
}

/// The index of a local repository or of a directory of charts, and its digest.
pub(crate) fn index(path: &Path) -> Result<(Index, String), Error> {
    if path.join("index.yaml").is_file() {
        let bytes = read(&path.join("index.yaml"), MAX_INDEX)?;
        let index = Index::parse(&bytes, &path.display().to_string())?;
        return Ok((index, digest::of(&bytes)));
    }
    let paths = match read_name_and_version(path) {
        Some(_) => vec![path.to_owned()],
        None => entries(path)?,
    };
    let mut index = Index::default();
    let mut hasher = Hasher::default();
    for (name, entry) in paths.iter().filter_map(|path| named_entry(path)) {
        for part in [
            &name,
            &entry.version,
            &entry.app_version,
            &entry.description,
        ] {
            hasher.add_part(part.as_bytes());
        }
        index.charts.entry(name).or_default().push(entry);
    }
    for entries in index.charts.values_mut() {
        entries.sort_by(|a, b| newest_first(&a.version, &b.version));
    }
    Ok((index, hasher.finish()))
}

/// The name and the entry of a chart directory, or of an archive by its file name.
fn named_entry(path: &Path) -> Option<(String, Entry)> {
    if path.is_dir() {
        return read_entry(path);
    }
    let file = path.file_name()?.to_str()?;
    let dashes = file.match_indices('-');
    let mut names = dashes.map(|(index, _)| &file[..index]);
    names.find_map(|name| {
        let entry = Entry {
            version: version_of_archive(file, name)?,
            ..Entry::default()
        };
        Some((name.to_owned(), entry))
    })
}

/// The name of the chart in a directory, and what an index says about it.
fn read_entry(directory: &Path) -> Option<(String, Entry)> {
    let text = load::read_file(&directory.join("Chart.yaml"), archive::MAX_FILE).ok()?;
    let chart = outrigger_goyaml::parse_json(&text).ok()?;
    let field = |name: &str| Some(chart[name].as_str()?.to_owned());
    let entry = Entry {
        version: field("version")?,
        app_version: field("appVersion").unwrap_or_default(),
        description: field("description").unwrap_or_default(),
        deprecated: chart["deprecated"] == true,
        ..Entry::default()
    };
    Some((field("name")?, entry))
}

/// The name and version in the `Chart.yaml` of a directory.
fn read_name_and_version(directory: &Path) -> Option<(String, String)> {
    let (name, entry) = read_entry(directory)?;
    Some((name, entry.version))
}

/// The version in the file name of an archive of this chart.
fn version_of_archive(file: &str, chart: &str) -> Option<String> {
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

/// The digest of the names and contents of files.
pub(crate) fn digest_of_files(files: &[File]) -> String {
    let mut files: Vec<&File> = files.iter().collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hasher = Hasher::default();
    for file in files {
        hasher.add_part(file.name.as_bytes());
        hasher.add_part(&file.data);
    }
    hasher.finish()
}

/// Reads an archive and verifies it against the digest in the index.
pub(crate) fn read_archive(
    path: &Path,
    expected: Option<&str>,
) -> Result<(Vec<u8>, String), Error> {
    let bytes = read(path, archive::MAX_ARCHIVE)?;
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

/// The files below a directory whose names `is_wanted`, sorted by their relative names.
pub(crate) fn files(directory: &Path, is_wanted: fn(&str) -> bool) -> Result<Vec<File>, Error> {
    let limit = |limit| Error::Limit {
        location: directory.display().to_string(),
        limit,
    };
    let mut entry_count = 0;
    let mut remaining = archive::MAX_TOTAL;
    let mut found = Vec::new();
    let mut directories = vec![(String::new(), directory.to_owned(), 0)];
    while let Some((prefix, directory, depth)) = directories.pop() {
        if depth > MAX_DEPTH {
            return Err(limit(Limit::Depth));
        }
        for path in entries(&directory)? {
            entry_count += 1;
            if entry_count > MAX_ENTRIES {
                return Err(limit(Limit::Entries));
            }
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{prefix}{file}");
            if path.is_dir() {
                directories.push((format!("{name}/"), path, depth + 1));
            } else if is_wanted(&name) {
                let bytes = read(&path, archive::MAX_TOTAL)?;
                remaining = remaining
                    .checked_sub(bytes.len() as u64)
                    .ok_or_else(|| limit(Limit::Bytes))?;
                found.push(File::new(name, bytes));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The entries of a directory, sorted.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: directory.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(directory).map_err(failed)? {
        if paths.len() >= MAX_ENTRIES {
            return Err(Error::Limit {
                location: directory.display().to_string(),
                limit: Limit::Entries,
            });
        }
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    load::read_file(path, limit).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}
