//! The outputs of initialise and render as files, fit for git: stable order, no secrets, one file for each template.
//!
//! A later stage can run from the files of the one before. A folder is replaced as a whole: it is written beside the old
//! one and renamed, so that a crash leaves the old or the new one, or neither, but never a mixture.

use std::io;
use std::path::{Path, PathBuf};

use outrigger_goyaml as goyaml;
use outrigger_model::{Conflict, Contribution, merge};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::pipeline::Initialised;
use crate::stage::{Rendered, RenderedFile, Template};

/// Why the files of a stage cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to access the files of a stage")]
    Io(#[from] io::Error),
    #[error("failed to parse {0}")]
    Yaml(PathBuf, #[source] goyaml::Error),
    #[error("{0} is not valid")]
    Json(PathBuf, #[source] serde_json::Error),
    #[error("{path} was changed: its digest is not the one in index.yaml")]
    Changed { path: PathBuf },
    #[error("{0:?} is not a path below the output folder")]
    Outside(String),
    #[error("the contributions in {path} conflict")]
    Conflict {
        path: PathBuf,
        source: Box<Conflict>,
    },
}

const CONFIGURATION: &str = "configuration.yaml";
const CONTRIBUTIONS: &str = "contributions.yaml";
const INDEX: &str = "index.yaml";

/// Writes the output of initialise to a folder.
pub fn write_initialised(folder: &Path, initialised: &Initialised) -> Result<(), Error> {
    let contributions = initialised.model.contributions();
    let contributions = serde_json::to_value(contributions)
        .map_err(|error| Error::Json(folder.join(CONTRIBUTIONS), error))?;
    let files = [
        (
            CONFIGURATION.to_owned(),
            goyaml::write_json(&initialised.configuration),
        ),
        (CONTRIBUTIONS.to_owned(), goyaml::write_json(&contributions)),
    ];
    replace(folder, files)
}

/// Reads what [`write_initialised`] wrote.
pub fn read_initialised(folder: &Path) -> Result<Initialised, Error> {
    let configuration = read_yaml(&folder.join(CONFIGURATION))?;
    let path = folder.join(CONTRIBUTIONS);
    let contributions: Vec<Contribution> = serde_json::from_value(read_yaml(&path)?)
        .map_err(|error| Error::Json(path.clone(), error))?;
    let model = merge(contributions).map_err(|mut conflicts| Error::Conflict {
        path,
        source: Box::new(conflicts.swap_remove(0)),
    })?;
    Ok(Initialised {
        configuration,
        model,
    })
}

/// Writes the output of render to a folder: templates as JSON, files as they are, and an index with digests.
pub fn write_rendered(folder: &Path, rendered: &Rendered) -> Result<(), Error> {
    let mut files = rendered_files(rendered)?;
    let index: Vec<Value> = files
        .iter()
        .map(|(path, bytes)| json!({"path": path, "sha256": sha256(bytes)}))
        .collect();
    files.push((INDEX.to_owned(), goyaml::write_json(&Value::Array(index))));
    replace(folder, files)
}

/// The files that [`write_rendered`] writes, except for the index, by path.
pub fn rendered_files(rendered: &Rendered) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut files = Vec::new();
    for template in &rendered.templates {
        let path = format!("templates/{}.json", template.name);
        let text = serde_json::to_vec_pretty(&template.body)
            .map_err(|error| Error::Json(PathBuf::from(&path), error))?;
        files.push((path, text));
    }
    let others = rendered.files.iter();
    files.extend(others.map(|file| {
        let path = format!("files/{}", file.path);
        (path, file.content.clone().into_bytes())
    }));
    files.sort();
    Ok(files)
}

/// Reads what [`write_rendered`] wrote, and checks the digests.
pub fn read_rendered(folder: &Path) -> Result<Rendered, Error> {
    let index = read_yaml(&folder.join(INDEX))?;
    let mut rendered = Rendered::default();
    for entry in index.as_array().into_iter().flatten() {
        let path = entry["path"].as_str().unwrap_or_default();
        let bytes = fs_err::read(folder.join(checked(path)?))?;
        if entry["sha256"].as_str() != Some(sha256(&bytes).as_str()) {
            return Err(Error::Changed {
                path: folder.join(path),
            });
        }
        let template = path
            .strip_prefix("templates/")
            .and_then(|name| name.strip_suffix(".json"));
        if let Some(name) = template {
            let body = serde_json::from_slice(&bytes)
                .map_err(|error| Error::Json(folder.join(path), error))?;
            rendered.templates.push(Template {
                name: name.to_owned(),
                body,
            });
        } else if let Some(path) = path.strip_prefix("files/") {
            let content = String::from_utf8_lossy(&bytes).into_owned();
            rendered.files.push(RenderedFile {
                path: path.to_owned(),
                content,
            });
        }
    }
    Ok(rendered)
}

/// The SHA-256 digest in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn read_yaml(path: &Path) -> Result<Value, Error> {
    let bytes = fs_err::read(path)?;
    goyaml::parse_json(&bytes).map_err(|error| Error::Yaml(path.to_owned(), error))
}

fn checked(path: &str) -> Result<&Path, Error> {
    let is_plain = |component| matches!(component, std::path::Component::Normal(_));
    let path_ = Path::new(path);
    if path.is_empty() || !path_.components().all(is_plain) {
        return Err(Error::Outside(path.to_owned()));
    }
    Ok(path_)
}

/// Replaces a folder by one with these files.
fn replace(folder: &Path, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<(), Error> {
    let (new, old) = (folder.with_extension("new"), folder.with_extension("old"));
    remove(&new)?;
    for (path, bytes) in files {
        let path = new.join(checked(&path)?);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(&path, bytes)?;
    }
    remove(&old)?;
    if folder.exists() {
        fs_err::rename(folder, &old)?;
    }
    fs_err::rename(&new, folder)?;
    remove(&old)
}

fn remove(folder: &Path) -> Result<(), Error> {
    match fs_err::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
