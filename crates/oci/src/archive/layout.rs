//! OCI image layouts: `index.json` and `blobs/ALGORITHM/HEX`, in a tar or in a folder.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::tarball::Contents;
use super::{Archive, ArchivedImage, Entry, Position, invalid};
use crate::digest::Digest;
use crate::error::Error;
use crate::limited_file::read_to_limit;
use crate::manifest::{Descriptor, MAX_MANIFEST, Manifest, OCI_INDEX, RawManifest};

/// Annotations with the name of an image, the most specific one first.
pub(super) const NAMES: &[&str] = &[
    "io.containerd.image.name",
    "org.opencontainers.image.ref.name",
];

/// Manifests of a layout.
const MAX_MANIFESTS: usize = 100_000;

pub(super) fn read_tar(archive: &mut Archive, contents: &Contents) -> Result<(), Error> {
    for (name, file) in &contents.files {
        if let Some(digest) = digest_of_name(name) {
            archive.blobs.insert(digest, Entry::of(file));
        }
    }
    let index = contents.text("index.json").unwrap_or_default();
    read(archive, index, &mut |digest| {
        let name = format!("blobs/{}/{}", digest.algorithm().name(), digest.hex());
        Ok(contents.text(&name).map(<[u8]>::to_vec))
    })
}

pub(super) fn open_folder(path: &Path) -> Result<Archive, Error> {
    let mut archive = Archive {
        path: path.to_owned(),
        images: Vec::new(),
        attached: Vec::new(),
        small: HashMap::new(),
        blobs: HashMap::new(),
        is_compressed: false,
        position: Position::default(),
    };
    let index = path.join("index.json");
    let index = read_limited(&index)?.ok_or_else(|| invalid(path, "it has no index.json"))?;
    for algorithm in ["sha256", "sha512"] {
        let folder = path.join("blobs").join(algorithm);
        let Ok(entries) = fs_err::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let entry = entry.map_err(|error| Error::io(&folder, error))?;
            let name = format!("blobs/{algorithm}/{}", entry.file_name().to_string_lossy());
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if let Some(digest) = digest_of_name(&name).filter(|_| is_file) {
                archive.blobs.insert(digest, Entry::File(entry.path()));
            }
        }
    }
    let folder = path.to_owned();
    read(&mut archive, &index, &mut |digest| {
        read_limited(
            &folder
                .join("blobs")
                .join(digest.algorithm().name())
                .join(digest.hex()),
        )
    })?;
    Ok(archive)
}

/// Reads a small file, if it exists.
pub(super) fn read_limited(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match read_to_limit(path, MAX_MANIFEST) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, error)),
    }
}

pub(super) fn digest_of_name(name: &str) -> Option<Digest> {
    let (algorithm, hex) = name.strip_prefix("blobs/")?.split_once('/')?;
    format!("{algorithm}:{hex}").parse().ok()
}

/// Reads small content, if it exists.
type ReadFn<'a> = dyn FnMut(&Digest) -> Result<Option<Vec<u8>>, Error> + 'a;

/// Reads the manifests that an index refers to. Each is verified.
fn read(archive: &mut Archive, index: &[u8], content: &mut ReadFn<'_>) -> Result<(), Error> {
    let path = archive.path.clone();
    let index = Manifest::parse(index, Some(OCI_INDEX))
        .map_err(|error| invalid(&path, format!("index.json: {error}")))?;
    let roots: Vec<Descriptor> = index.children().cloned().collect();
    let mut queue = roots.clone();
    while let Some(descriptor) = queue.pop() {
        if archive.small.contains_key(&descriptor.digest) {
            continue;
        }
        // A manifest of a platform that was not saved is missing, which matters only if it is copied.
        let Some(bytes) = content(&descriptor.digest)? else {
            continue;
        };
        let kind = Some(descriptor.media_type.as_str());
        let what = || format!("{} in {}", descriptor.digest, path.display());
        let manifest = RawManifest::parse_with(descriptor.digest.algorithm(), bytes, kind)
            .map_err(|source| Error::InvalidManifest {
                what: what(),
                source,
            })?;
        if manifest.digest != descriptor.digest {
            let (expected, found) = (descriptor.digest.clone(), manifest.digest);
            return Err(Error::DigestMismatch {
                what: what(),
                expected,
                found,
            });
        }
        queue.extend(manifest.parsed.children().cloned());
        archive.small.insert(descriptor.digest, Arc::new(manifest));
        if archive.small.len() > MAX_MANIFESTS {
            return Err(invalid(
                &path,
                format!("it has more than {MAX_MANIFESTS} manifests"),
            ));
        }
    }
    archive.images = roots.iter().map(ArchivedImage::of_index_entry).collect();
    Ok(())
}

impl ArchivedImage {
    /// The image that an entry of the index of a layout describes.
    pub fn of_index_entry(root: &Descriptor) -> Self {
        let annotations = root.annotations.as_ref();
        let name = NAMES.iter().find_map(|key| annotations?.get(*key)).cloned();
        Self {
            names: name.into_iter().collect(),
            digest: root.digest.clone(),
        }
    }
}
