//! Built packages in registries: an OCI artifact whose layers are the file of the package, or its chunks.
//!
//! What is pushed was verified before, and what is pulled has the digests of its manifest. Who built it is for
//! `signature::verify`, after the pull.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outrigger_oci::{
    Blob, Client, Descriptor, Digest, Manifest, Mount, OCI_MANIFEST, RawManifest, Reference,
    Repository,
};
use tempfile::NamedTempFile;

use crate::archive::{
    self, Discard, Reader, chunk_path, folder_of, remove_outdated_chunks, temporary_file,
};
use crate::build::files::digest_of;
use crate::built::find_built;
use crate::progress::Progress;
use crate::root::Root;

/// The type of the artifact.
pub const ARTIFACT: &str = "application/vnd.outrigger.expansion.v1";

/// The type of a layer that is the file of a package, or a chunk of it.
const LAYER: &str = "application/vnd.outrigger.expansion.v1.tar+zstd";

/// The content of a configuration that says nothing.
const EMPTY: &[u8] = b"{}";
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";

const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";
const BASE: &str = "org.opencontainers.image.base.digest";

/// Why a package cannot be pushed or pulled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error("failed to read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to push to {to}")]
    Push {
        to: String,
        #[source]
        source: Box<outrigger_oci::Error>,
    },
    #[error("failed to pull {from}")]
    Pull {
        from: String,
        #[source]
        source: Box<outrigger_oci::Error>,
    },
    #[error("{from} is not an expansion package, but {found}")]
    OtherArtifact { from: String, found: String },
    #[error("the manifest of the package is not valid")]
    Manifest(#[source] outrigger_oci::InvalidManifest),
    #[error("the work was canceled")]
    Canceled,
}

impl Error {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Archive(error) => error.hint(),
            Self::Push { source, .. } | Self::Pull { source, .. } => source.hint(),
            _ => None,
        }
    }
}

/// Verifies a package, and pushes it. Of a delta only what it carries is verified. Returns the digest of the artifact.
pub async fn push(
    package: &Path,
    to: &Reference,
    client: &Client,
    progress: &Arc<Progress>,
) -> Result<Digest, Error> {
    let (path, counted) = (package.to_owned(), Arc::clone(progress));
    let (root, files) = blocking(move || {
        let input = find_built(&path)?;
        let reader = Reader::open(&input, &counted)?;
        let root = reader.root().clone();
        reader.read_carried(&mut Discard)?;
        let mut layers = Vec::new();
        for file in input.files() {
            let described = digest_of(&file);
            let (digest, size) = described.map_err(|source| Error::Io {
                path: file.clone(),
                source,
            })?;
            layers.push((file, Descriptor::new(LAYER, digest, size)));
        }
        Ok((root, layers))
    })
    .await?;
    let failed = |source| Error::Push {
        to: to.to_string(),
        source: Box::new(source),
    };
    progress.expect(files.iter().map(|(_, layer)| layer.size).sum());
    let mut layers = Vec::new();
    for (file, layer) in files {
        push_file(client, to.repository(), &file, &layer, progress)
            .await
            .map_err(failed)?;
        layers.push(titled(layer, &file));
    }
    let config = Descriptor::new(EMPTY_TYPE, Digest::of(EMPTY), EMPTY.len() as u64);
    let empty = Blob::memory(EMPTY, &config);
    client
        .push_blob(to.repository(), empty, None)
        .await
        .map_err(failed)?;
    let manifest = manifest(&root, config, layers)?;
    client.push_manifest(to, &manifest).await.map_err(failed)?;
    Ok(manifest.digest)
}

async fn push_file(
    client: &Client,
    to: &Repository,
    file: &Path,
    layer: &Descriptor,
    progress: &Progress,
) -> Result<(), outrigger_oci::Error> {
    if client.reuse_blob(to, layer, None).await?.is_some() {
        progress.add(layer.size);
        return Ok(());
    }
    let blob = Blob::file(file.to_owned(), layer);
    let mut report = |bytes| progress.add(bytes);
    client
        .upload(to, blob, Mount::Any, &mut report)
        .await
        .map(drop)
}

/// Other clients name the file so.
fn titled(mut layer: Descriptor, file: &Path) -> Descriptor {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    layer.annotations = Some([(TITLE.to_owned(), name.into_owned())].into());
    layer
}

fn manifest(
    root: &Root,
    config: Descriptor,
    layers: Vec<Descriptor>,
) -> Result<RawManifest, Error> {
    let mut annotations = BTreeMap::from([(TITLE.to_owned(), root.name.clone())]);
    if let Some(version) = &root.version {
        annotations.insert(VERSION.to_owned(), version.clone());
    }
    if let Some(base) = &root.base {
        annotations.insert(BASE.to_owned(), base.digest.to_string());
    }
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(OCI_MANIFEST.to_owned()),
        artifact_type: Some(ARTIFACT.to_owned()),
        config: Some(config),
        layers: Some(layers),
        annotations: Some(annotations),
        ..Manifest::default()
    };
    let invalid = |error| Error::Manifest(outrigger_oci::InvalidManifest::Json(error));
    let bytes = serde_json::to_vec(&manifest).map_err(invalid)?;
    RawManifest::parse(bytes, Some(OCI_MANIFEST)).map_err(Error::Manifest)
}

/// Pulls a package to a file, or to chunks whose names begin with that of the file. Returns them.
pub async fn pull(
    from: &Reference,
    target: &Path,
    client: &Client,
    progress: &Arc<Progress>,
) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Pull {
        from: from.to_string(),
        source: Box::new(source),
    };
    let found = client.resolve(from).await.map_err(failed)?;
    let manifest = &found.manifest.parsed;
    let layers = manifest.layers.as_deref().unwrap_or_default();
    let is_package = manifest.artifact_type.as_deref() == Some(ARTIFACT)
        && !layers.is_empty()
        && layers.iter().all(|layer| layer.media_type == LAYER);
    if !is_package {
        return Err(Error::OtherArtifact {
            from: from.to_string(),
            found: manifest.kind().unwrap_or("an index").to_owned(),
        });
    }
    progress.expect(
        layers
            .iter()
            .fold(0, |sum: u64, layer| sum.saturating_add(layer.size)),
    );
    let mut files = Vec::new();
    for (number, layer) in (1..).zip(layers) {
        let blob = Blob::remote(client, found.location.repository(), layer);
        let file = pull_file(blob, target, progress).await;
        let path = match layers.len() {
            1 => target.to_owned(),
            _ => chunk_path(target, number),
        };
        files.push((file.map_err(failed)?, path));
    }
    let target = target.to_owned();
    blocking(move || persist(files, &target)).await
}

/// Writes a blob to a temporary file. It is verified before its last bytes are there.
async fn pull_file(
    mut blob: Blob,
    target: &Path,
    progress: &Progress,
) -> Result<NamedTempFile, outrigger_oci::Error> {
    let failed = |source| outrigger_oci::Error::Io {
        path: target.to_owned(),
        source,
    };
    let mut file = temporary_file(folder_of(target)).map_err(failed)?;
    while let Some(bytes) = blob.next().await? {
        progress.check().map_err(failed)?;
        progress.add(bytes.len() as u64);
        let written = tokio::task::spawn_blocking(move || file.write_all(&bytes).map(|()| file));
        let written = written.await.map_err(|_| outrigger_oci::Error::Canceled)?;
        file = written.map_err(failed)?;
    }
    Ok(file)
}

/// Gives all files their names when all are on disk.
fn persist(files: Vec<(NamedTempFile, PathBuf)>, target: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Io {
        path: target.to_owned(),
        source,
    };
    for (file, _) in &files {
        file.as_file().sync_all().map_err(failed)?;
    }
    let mut paths = Vec::new();
    for (file, path) in files {
        file.persist(&path).map_err(|error| failed(error.error))?;
        paths.push(path);
    }
    remove_outdated_chunks(target, &paths).map_err(failed)?;
    Ok(paths)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(Error::Canceled))
}
