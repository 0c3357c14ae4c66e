//! What is in an archive or a folder: a chart, or YAML files.

use std::path::Path;

use outrigger_chart::load::{self, archive};
use outrigger_chart::{Chart, File, Profile, from_archive, from_files};

use crate::source::is_archive;
use crate::{Error, Request, local};

/// Makes a chart of the bytes of an archive.
pub(crate) fn chart_of(
    bytes: &[u8],
    place: &str,
    request: &Request,
    profile: Profile,
) -> Result<Chart, Error> {
    let loaded = match request.path.as_deref() {
        None | Some("") => from_archive(bytes, profile, &mut warn),
        Some(_) => from_files(unpack(bytes, place, request, profile)?, profile, &mut warn),
    };
    loaded.map_err(|source| bad_chart(place, source))
}

/// The files of an archive below the path that is asked for.
pub(crate) fn unpack(
    bytes: &[u8],
    place: &str,
    request: &Request,
    profile: Profile,
) -> Result<Vec<File>, Error> {
    let files = archive::read(bytes, profile).map_err(|source| bad_chart(place, source.into()))?;
    let Some(path) = request.path.as_deref().filter(|path| !path.is_empty()) else {
        return Ok(files);
    };
    let prefix = format!("{}/", path.trim_start_matches("./").trim_matches('/'));
    let below: Vec<File> = files
        .into_iter()
        .filter_map(|file| {
            let name = file.name.strip_prefix(&prefix)?.to_owned();
            Some(File {
                name,
                data: file.data,
            })
        })
        .collect();
    if below.is_empty() {
        return Err(Error::NoPath {
            place: place.to_owned(),
            path: path.to_owned(),
        });
    }
    Ok(below)
}

/// The YAML files of a folder or an archive, or a single one.
pub(crate) fn manifests_on_disk(
    place: &Path,
    request: &Request,
    profile: Profile,
) -> Result<Vec<File>, Error> {
    let shown = place.display().to_string();
    if place.is_file() {
        let bytes = local::read(place)?;
        if is_archive(&shown) {
            return unpack(&bytes, &shown, request, profile);
        }
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        return Ok(vec![File::new(name, bytes)]);
    }
    let root = match request.path.as_deref().filter(|path| !path.is_empty()) {
        Some(path) => local::inside(place, path)?,
        None => place.to_owned(),
    };
    let files = local::files(&root)?.into_iter();
    let files = files.filter(|(name, _)| is_manifest(name));
    files
        .map(|(name, path)| Ok(File::new(name, local::read(&path)?)))
        .collect()
}

pub(crate) fn is_manifest(name: &str) -> bool {
    [".yaml", ".yml", ".json"]
        .iter()
        .any(|end| name.to_ascii_lowercase().ends_with(end))
}

pub(crate) fn bad_chart(place: &str, source: load::Error) -> Error {
    Error::BadChart {
        place: place.to_owned(),
        source: Box::new(source),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that the chart crate calls"
)]
pub(crate) fn warn(text: String) {
    tracing::warn!("{text}");
}
