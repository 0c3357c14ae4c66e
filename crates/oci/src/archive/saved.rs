//! The files of an OCI layout of images: what they contain, and in which order they are written. Nothing is written here.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::layout::{NAMES, read_limited};
use super::{ArchivedImage, invalid};
use crate::blob::Blob;
use crate::copy::{Source, Tree};
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Descriptor, Manifest, OCI_INDEX};
use crate::platform::Platform;
use crate::reference::{Reference, Repository};

/// An image to save: its name in the archive, where it is, and its manifests. Referrers have no name.
#[derive(Debug, Clone)]
pub struct SavedImage {
    pub name: Option<Reference>,
    pub repository: Repository,
    pub tree: Tree,
}

impl SavedImage {
    /// Finds an image in a source, and reads its manifests: those of the platforms, or all if there are none.
    pub async fn resolve(
        source: &Source,
        name: &Reference,
        platforms: &[Platform],
    ) -> Result<Self, Error> {
        let found = source.resolve(name).await?;
        let repository = found.location.repository().clone();
        let root = source
            .select(&repository, found.manifest, platforms)
            .await?;
        let tree = Tree::read(source, &repository, root).await?;
        Ok(Self {
            name: Some(name.clone()),
            repository,
            tree,
        })
    }
}

/// The files of a layout: manifests, blobs and the index. Each blob is there once, whatever images have it.
#[derive(Debug, Default)]
pub struct Layout {
    /// Manifests and blobs, by name, so that their order does not depend on that of the images
    pub(super) content: BTreeMap<String, LayoutFile>,
    pub(super) index: LayoutIndex,
}

/// A file of a layout.
#[derive(Debug, Clone)]
pub struct LayoutFile {
    /// In the layout, such as `blobs/sha256/…`
    pub name: String,
    pub digest: Digest,
    pub size: u64,
    pub is_manifest: bool,
    pub(super) content: Content,
}

/// Where the content of a file is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    Blob(Box<(Source, Repository, Descriptor)>),
}

impl Layout {
    /// Adds an image of a source.
    pub fn add(&mut self, source: &Source, image: &SavedImage) {
        self.index.add(image);
        for manifest in image.tree.children().chain([image.tree.root()]) {
            let descriptor = manifest.descriptor();
            let content = Content::Bytes(manifest.bytes.clone());
            self.insert(&descriptor, true, || content);
        }
        for blob in image.tree.blobs() {
            self.insert(blob, false, || {
                let blob = (source.clone(), image.repository.clone(), blob.clone());
                Content::Blob(Box::new(blob))
            });
        }
    }

    /// Content that is there already is kept, unless it is a manifest now: those are in memory.
    fn insert(
        &mut self,
        descriptor: &Descriptor,
        is_manifest: bool,
        content: impl FnOnce() -> Content,
    ) {
        let name = file_name(descriptor);
        if is_manifest || !self.content.contains_key(&name) {
            let file = LayoutFile {
                name: name.clone(),
                digest: descriptor.digest.clone(),
                size: descriptor.size,
                is_manifest,
                content: content(),
            };
            self.content.insert(name, file);
        }
    }

    /// The total size of the blobs.
    pub(super) fn blob_size(&self) -> u64 {
        let blobs = self.content.values().filter(|file| !file.is_manifest);
        blobs.map(|file| file.size).sum()
    }

    /// The images by name, with their digests.
    pub fn images(&self) -> impl Iterator<Item = (&str, &Digest)> {
        let roots = self.index.roots.iter();
        roots.map(|(name, root)| (name.as_str(), &root.digest))
    }

    /// Manifests and blobs, sorted by name.
    pub fn content(&self) -> impl Iterator<Item = &LayoutFile> {
        self.content.values()
    }

    /// The files that describe the layout, sorted by name.
    pub fn index_files(&self) -> Vec<LayoutFile> {
        let files = self.index.files().into_iter();
        let mut files: Vec<LayoutFile> = files
            .map(|(name, bytes)| LayoutFile {
                name: name.to_owned(),
                digest: Digest::of(&bytes),
                size: bytes.len() as u64,
                is_manifest: false,
                content: Content::Bytes(bytes),
            })
            .collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    }
}

impl LayoutFile {
    /// Whether the content is in a source, not in memory.
    pub(super) fn is_blob(&self) -> bool {
        matches!(self.content, Content::Blob(_))
    }

    /// Reads the content, which is verified against digest and size.
    pub fn open(&self) -> Result<Blob, Error> {
        match &self.content {
            Content::Bytes(bytes) => {
                let descriptor = Descriptor::new("", self.digest.clone(), self.size);
                Ok(Blob::memory(bytes.clone(), &descriptor))
            }
            Content::Blob(blob) => {
                let (source, repository, blob) = &**blob;
                source.blob(repository, blob)
            }
        }
    }
}

/// The images of a layout by name.
#[derive(Debug, Default)]
pub(super) struct LayoutIndex {
    roots: BTreeMap<String, Descriptor>,
    /// Entries of the index of `docker save`
    docker: BTreeMap<String, Value>,
}

impl LayoutIndex {
    fn add(&mut self, image: &SavedImage) {
        let root = image.tree.root();
        let mut descriptor = root.descriptor();
        let Some(name) = &image.name else {
            self.roots.insert(root.digest.to_string(), descriptor);
            return;
        };
        let name = name.to_string();
        let names = NAMES.iter().map(|key| ((*key).to_owned(), name.clone()));
        descriptor.annotations = Some(names.collect());
        // Docker rejects archives with an entry whose layers are not those of a file system, as those of signatures.
        let mut layers = root.parsed.layers.iter().flatten();
        let is_image = layers.all(|layer| layer.media_type.contains("tar"));
        if let Some(config) = root.parsed.config.as_ref().filter(|_| is_image) {
            let layers: Vec<String> = root.parsed.layers.iter().flatten().map(file_name).collect();
            let entry = json!({"Config": file_name(config), "RepoTags": [name], "Layers": layers});
            self.docker.insert(name.clone(), entry);
        }
        self.roots.insert(name, descriptor);
    }

    /// Adds the images of the folder that have other names.
    pub(super) fn extend_from(&mut self, folder: &Path) -> Result<(), Error> {
        let path = folder.join("index.json");
        let bytes = read_limited(&path)?;
        if bytes.is_none() && path.exists() {
            return Err(invalid(folder, "its index.json is too large to extend"));
        }
        if let Some(bytes) = bytes {
            let index = Manifest::parse(&bytes, Some(OCI_INDEX))
                .map_err(|error| invalid(folder, format!("index.json: {error}")))?;
            for root in index.children() {
                // Images without a name are kept by their digest.
                let name = ArchivedImage::of_index_entry(root).names.pop();
                let name = name.unwrap_or_else(|| root.digest.to_string());
                self.roots.entry(name).or_insert_with(|| root.clone());
            }
        }
        if let Some(bytes) = read_limited(&folder.join("manifest.json"))? {
            let entries: Vec<Value> = serde_json::from_slice(&bytes)
                .map_err(|error| invalid(folder, format!("manifest.json: {error}")))?;
            for entry in entries {
                let name = entry["RepoTags"][0].as_str().unwrap_or_default().to_owned();
                if self.roots.contains_key(&name) {
                    self.docker.entry(name).or_insert(entry);
                }
            }
        }
        Ok(())
    }

    /// The files of the index; `index.json` is last.
    pub(super) fn files(&self) -> [(&'static str, Vec<u8>); 3] {
        let roots: Vec<&Descriptor> = self.roots.values().collect();
        let docker: Vec<&Value> = self.docker.values().collect();
        let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": roots});
        [
            ("oci-layout", text(&json!({"imageLayoutVersion": "1.0.0"}))),
            // `docker load` of versions before 25 reads this file, and does not know indexes.
            ("manifest.json", text(&json!(docker))),
            ("index.json", text(&index)),
        ]
    }
}

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn file_name(descriptor: &Descriptor) -> String {
    let digest = &descriptor.digest;
    format!("blobs/{}/{}", digest.algorithm().name(), digest.hex())
}
