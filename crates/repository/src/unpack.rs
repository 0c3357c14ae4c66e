//! Reads charts and YAML files from archives and directories.

use std::path::Path;

use outrigger_chart::load::{self, archive};
use outrigger_chart::{Chart, File, Profile, from_archive, from_files};

use crate::source::is_archive;
use crate::{Error, Request, local};

/// Loads a chart from an archive.
pub(crate) fn load_archive(
    bytes: &[u8],
    location: &str,
    request: &Request,
    profile: Profile,
) -> Result<Chart, Error> {
    let loaded = match request.path.as_deref() {
        None | Some("") => from_archive(bytes, profile, &mut warn),
        Some(_) => from_files(
            unpack(bytes, location, request, profile)?,
            profile,
            &mut warn,
        ),
    };
    loaded.map_err(|source| invalid_chart(location, source))
}

/// The files of an archive below the requested path.
pub(crate) fn unpack(
    bytes: &[u8],
    location: &str,
    request: &Request,
    profile: Profile,
) -> Result<Vec<File>, Error> {
    let files =
        archive::read(bytes, profile).map_err(|source| invalid_chart(location, source.into()))?;
    let Some(path) = request.path.as_deref().filter(|path| !path.is_empty()) else {
        return Ok(files);
    };
    let path_in_archive = path.trim_start_matches("./").trim_matches('/');
    let mut found = below(&files, path_in_archive);
    if found.is_empty()
        && let (top, rest) = path_in_archive
            .split_once('/')
            .unwrap_or((path_in_archive, ""))
        && archive::top_folder(bytes).is_some_and(|directory| directory == top)
    {
        // Files are named relative to the top directory of an archive. KubeGems' paths begin with that directory.
        found = below(&files, rest);
    }
    let files = found;
    if files.is_empty() {
        return Err(Error::PathNotFound {
            location: location.to_owned(),
            path: path.to_owned(),
        });
    }
    Ok(files)
}

/// The files below a directory, named relative to it.
fn below(files: &[File], directory: &str) -> Vec<File> {
    let prefix = if directory.is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    };
    let found = files.iter().filter_map(|file| {
        let name = file.name.strip_prefix(&prefix)?.to_owned();
        let data = file.data.clone();
        Some(File { name, data })
    });
    found.collect()
}

/// The YAML files of a local directory or archive, or a single one.
pub(crate) fn local_manifests(
    source: &Path,
    request: &Request,
    profile: Profile,
) -> Result<Vec<File>, Error> {
    let location = source.display().to_string();
    if source.is_file() {
        let bytes = local::read(source, archive::MAX_ARCHIVE)?;
        if is_archive(&location) {
            return unpack(&bytes, &location, request, profile);
        }
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        return Ok(vec![File::new(name, bytes)]);
    }
    let root = local::subdirectory(source, request.path.as_deref())?;
    local::files(&root, is_manifest)
}

pub(crate) fn is_manifest(name: &str) -> bool {
    [".yaml", ".yml", ".json"]
        .iter()
        .any(|end| name.to_ascii_lowercase().ends_with(end))
}

pub(crate) fn invalid_chart(location: &str, source: load::Error) -> Error {
    Error::InvalidChart {
        location: location.to_owned(),
        source: Box::new(source),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature that the chart crate requires"
)]
pub(crate) fn warn(text: String) {
    tracing::warn!("{text}");
}
