//! `docker save`: `manifest.json`, configs, and one tar for each layer. Layers are pushed as they are in the archive.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use super::tarball::{Contents, File};
use super::{Archive, ArchivedImage, Entry, invalid};
use crate::digest::{Algorithm, Digest};
use crate::error::Error;
use crate::manifest::{Descriptor, Manifest, OCI_CONFIG, OCI_MANIFEST, RawManifest};

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Image {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

#[derive(Deserialize)]
struct Config {
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    #[serde(default)]
    diff_ids: Vec<Digest>,
}

pub(super) fn read(archive: &mut Archive, contents: &Contents) -> Result<(), Error> {
    let path = archive.path.clone();
    let text = contents.text("manifest.json").unwrap_or_default();
    let images: Vec<Image> = serde_json::from_slice(text)
        .map_err(|error| invalid(&path, format!("manifest.json: {error}")))?;
    let mut hashed = HashMap::new();
    for image in images {
        let manifest = read_image(archive, contents, &image, &mut hashed)?;
        archive.images.push(ArchivedImage {
            names: image.repo_tags.unwrap_or_default(),
            digest: manifest.digest.clone(),
        });
        archive
            .small
            .insert(manifest.digest.clone(), Arc::new(manifest));
    }
    Ok(())
}

/// The manifest of an image, which an archive of Docker does not have.
fn read_image(
    archive: &mut Archive,
    contents: &Contents,
    image: &Image,
    hashed: &mut Hashed,
) -> Result<RawManifest, Error> {
    let path = archive.path.clone();
    let missing = |name: &str| invalid(&path, format!("{name:?} is missing"));
    let bytes = contents
        .text(&image.config)
        .ok_or_else(|| missing(&image.config))?;
    let config: Config = serde_json::from_slice(bytes)
        .map_err(|error| invalid(&path, format!("{}: {error}", image.config)))?;
    let diff_ids = &config.rootfs.diff_ids;
    if diff_ids.len() != image.layers.len() {
        let reason = format!(
            "the config has {} layers, and manifest.json {}",
            diff_ids.len(),
            image.layers.len()
        );
        return Err(invalid(&path, reason));
    }
    let config = Descriptor::new(OCI_CONFIG, Digest::of(bytes), bytes.len() as u64);
    archive
        .blobs
        .insert(config.digest.clone(), Entry::Memory(bytes.to_vec()));
    let mut layers = Vec::new();
    for (name, diff_id) in image.layers.iter().zip(diff_ids) {
        let file = contents.file(name).ok_or_else(|| missing(name))?;
        let digest = layer_digest(archive, name, file, diff_id, hashed)?;
        archive.blobs.insert(digest.clone(), Entry::of(file));
        let kind = if file.is_gzip { LAYER_GZIP } else { LAYER };
        layers.push(Descriptor::new(kind, digest, file.size));
    }
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(OCI_MANIFEST.to_owned()),
        config: Some(config),
        layers: Some(layers),
        ..Manifest::default()
    };
    let failed = |source| Error::InvalidManifest {
        what: image.config.clone(),
        source,
    };
    let bytes = serde_json::to_vec(&manifest)
        .map_err(|error| failed(crate::InvalidManifest::Json(error)))?;
    RawManifest::parse(bytes, Some(OCI_MANIFEST)).map_err(failed)
}

/// The digests of the layers that were hashed, by their positions.
type Hashed = HashMap<u64, Digest>;

/// The digest of a layer: that of its name, or the diff ID of a layer that is not compressed. Others are hashed once, however
/// many images have them.
fn layer_digest(
    archive: &Archive,
    name: &str,
    file: &File,
    diff_id: &Digest,
    hashed: &mut Hashed,
) -> Result<Digest, Error> {
    if let Some(hex) = name.strip_prefix("blobs/sha256/")
        && let Ok(digest) = format!("sha256:{hex}").parse()
    {
        return Ok(digest);
    }
    if !file.is_gzip {
        return Ok(diff_id.clone());
    }
    if let Some(known) = hashed.get(&file.start) {
        return Ok(known.clone());
    }
    let failed = |error| Error::io(&archive.path, error);
    let mut reader = archive
        .position
        .open(&archive.path, file.start)
        .map_err(failed)?;
    let mut hasher = Algorithm::Sha256.hasher();
    let mut left = file.size;
    let mut buffer = vec![0; 128 << 10];
    while left > 0 {
        let length = usize::try_from(left.min(buffer.len() as u64)).unwrap_or(buffer.len());
        std::io::Read::read_exact(&mut reader, &mut buffer[..length]).map_err(failed)?;
        hasher.update(&buffer[..length]);
        left -= length as u64;
    }
    archive.position.keep(reader);
    let digest = hasher.finish();
    hashed.insert(file.start, digest.clone());
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Position;

    #[test]
    fn a_compressed_layer_is_hashed_once_for_all_images() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("layer.tar.gz");
        // Not a gzip stream: the file is hashed, never unpacked.
        fs_err::write(&path, b"layer").unwrap();
        let archive = Archive {
            path: path.clone(),
            images: Vec::new(),
            attached: Vec::new(),
            small: HashMap::new(),
            blobs: HashMap::new(),
            is_compressed: false,
            position: Position::default(),
        };
        let file = File {
            start: 0,
            size: 5,
            is_gzip: true,
            text: None,
        };
        let mut hashed = Hashed::new();
        let mut digest = || layer_digest(&archive, "a.tar", &file, &Digest::of(b"x"), &mut hashed);
        assert_eq!(digest().unwrap(), Digest::of(b"layer"));
        fs_err::remove_file(&path).unwrap();
        assert_eq!(digest().unwrap(), Digest::of(b"layer"));
    }
}
