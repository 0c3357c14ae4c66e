//! Reads the archives of a catalogue, and redirects the URLs in them to a local server.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// The archives of a directory, sorted.
pub(super) fn list(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut archives = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            archives.push(path);
        }
    }
    archives.sort();
    Ok(archives)
}

/// The name and the version of the chart, from the file name.
pub(super) fn name_and_version(archive: &Path) -> anyhow::Result<(String, String)> {
    let stem = archive.file_stem().context("an archive has a name")?;
    let stem = stem.to_string_lossy();
    let (name, version) = stem.rsplit_once('-').context("an archive has a version")?;
    Ok((name.to_owned(), version.to_owned()))
}

/// The namespace that the chart's annotation asks for.
pub(super) fn install_namespace(archive: &Path) -> anyhow::Result<Option<String>> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs_err::File::open(archive)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        if path.ends_with("/Chart.yaml") && path.matches('/').count() == 1 {
            let mut text = Vec::new();
            entry.read_to_end(&mut text)?;
            let chart = outrigger_goyaml::parse_json(&text)?;
            let namespace = &chart["annotations"]["plugins.kubegems.io/install-namespace"];
            return Ok(namespace.as_str().map(str::to_owned));
        }
    }
    Ok(None)
}

/// Copies an archive. In templates and values, `https://HOST/…` becomes `URL/HOST/…`.
pub(super) fn redirect(from: &Path, to: &Path, url: &str) -> anyhow::Result<()> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs_err::File::open(from)?));
    let mut files = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let mut data = Vec::new();
        entry.read_to_end(&mut data)?;
        let is_redirected = path.contains("/templates/") || path.ends_with("/values.yaml");
        if let Ok(text) = std::str::from_utf8(&data)
            && is_redirected
        {
            let text = text.replace("https://", "http://");
            let text = text.replace("http://", &format!("{url}/"));
            data = text.into_bytes();
        }
        files.push((path, data));
    }
    fs_err::write(to, pack(&files)?)?;
    Ok(())
}

/// A compressed archive of files.
pub(super) fn pack(files: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, data.as_slice())?;
    }
    let mut encoder = builder.into_inner()?;
    encoder.flush()?;
    Ok(encoder.finish()?)
}
