//! Streams the images of a package into the store of the registry, without unpacking them. What the store has is not sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use outrigger_expansion::archive::{self, Sink};
use outrigger_expansion::{EntryKind, LockedEntry, Progress};
use outrigger_oci::{Archive, Descriptor, Digest, RawManifest, Reference, Source, Tree};
use outrigger_registry::{BlobImport, Store, StoreError};

use super::{Effects, message};
use crate::contents::{PackageContents, PackagedImage};
use crate::reports::Report;

/// Loads blobs and manifests. Tags come later, so that no name has an image that is incomplete.
pub(super) fn load(effects: &Effects) -> Result<(), String> {
    let Some(package) = &effects.contents.package else {
        return Ok(());
    };
    let store = effects.store.as_ref().ok_or("the registry is not served")?;
    let missing = missing(store, &package.images);
    if missing.is_empty() {
        return Ok(());
    }
    match &package.archive {
        Some(path) => {
            let archive = Archive::open(path).map_err(|error| message(&error))?;
            let source = Source::Archive(Arc::new(archive));
            let work = load_archive(&source, &missing, store);
            tokio::runtime::Handle::current().block_on(work)?;
        }
        None => load_built(package, &missing, store)?,
    }
    store.flush();
    Ok(())
}

/// Gives the images their names: those that they have elsewhere, without the host.
pub(super) fn tag(effects: &Effects) -> Result<Report, String> {
    let Some(package) = &effects.contents.package else {
        return Ok(Report::default());
    };
    let store = effects.store.as_ref().ok_or("the registry is not served")?;
    let mut named = Vec::new();
    for image in &package.images {
        let repository = image.name.repository().path();
        if let Some(tag) = image.name.tag() {
            store
                .import_tag(repository, tag, &image.digest)
                .map_err(|error| format!("image {}: {}", image.name, message(&error)))?;
        }
        named.push(format!("{}@{}", image.name, image.digest));
    }
    store.flush();
    Ok(Report {
        images: Some(named),
        ..Report::default()
    })
}

/// The images that the store does not have. A manifest is stored after everything that it refers to.
fn missing<'i>(store: &Store, images: &'i [PackagedImage]) -> Vec<&'i PackagedImage> {
    let is_missing =
        |image: &&PackagedImage| !store.has_manifest(image.name.repository().path(), &image.digest);
    images.iter().filter(is_missing).collect()
}

/// The repositories of each blob, and the manifests of each repository, children first.
#[derive(Debug, Default)]
struct Plan {
    blobs: HashMap<Digest, (u64, BTreeSet<String>)>,
    manifests: Vec<(String, RawManifest)>,
}

impl Plan {
    fn add(&mut self, repository: &str, manifest: &RawManifest) {
        for blob in manifest.parsed.blobs().filter(|blob| !blob.is_foreign()) {
            let entry = self.blobs.entry(blob.digest.clone());
            let (_, repositories) = entry.or_insert_with(|| (blob.size, BTreeSet::new()));
            repositories.insert(repository.to_owned());
        }
        self.manifests
            .push((repository.to_owned(), manifest.clone()));
    }

    /// The repositories that need the content of a blob. None if the store has it, which they then share.
    fn wanted(&self, digest: &Digest, store: &Store) -> Result<Option<Vec<String>>, StoreError> {
        let Some((size, repositories)) = self.blobs.get(digest) else {
            return Ok(None);
        };
        let repositories: Vec<String> = repositories.iter().cloned().collect();
        let is_there = store.reuse_blob(&repositories, digest, *size)?;
        Ok((!is_there).then_some(repositories))
    }

    fn store_manifests(&self, store: &Store) -> Result<(), String> {
        for (repository, manifest) in &self.manifests {
            let stored = store.import_manifest(repository, manifest);
            stored.map_err(|error| format!("{}: {}", manifest.digest, message(&error)))?;
        }
        Ok(())
    }
}

/// Loads images from an archive in the folder of the package.
async fn load_archive(
    source: &Source,
    images: &[&PackagedImage],
    store: &Store,
) -> Result<(), String> {
    let mut plan = Plan::default();
    let mut blobs: BTreeMap<Digest, Descriptor> = BTreeMap::new();
    for image in images {
        let repository = image.name.repository();
        let failed =
            |error: outrigger_oci::Error| format!("image {}: {}", image.name, message(&error));
        let by_digest: Reference = repository.with_digest(image.digest.clone());
        let root = source.resolve(&by_digest).await.map_err(failed)?.manifest;
        let tree = Tree::read(source, repository, root).await.map_err(failed)?;
        for manifest in tree.children().chain([tree.root()]) {
            plan.add(repository.path(), manifest);
        }
        for blob in tree.blobs() {
            blobs.insert(blob.digest.clone(), blob.clone());
        }
    }
    let repository = images.first().map(|image| image.name.repository());
    for blob in source.in_order(blobs.values().collect()) {
        let wanted = plan
            .wanted(&blob.digest, store)
            .map_err(|error| message(&error))?;
        let (Some(repositories), Some(repository)) = (wanted, repository) else {
            continue;
        };
        let mut content = source
            .blob(repository, blob)
            .map_err(|error| message(&error))?;
        let import = store.import_blob(&repositories, &blob.digest);
        let import = import.map_err(|error| message(&error))?;
        while let Some(bytes) = content.next().await.map_err(|error| message(&error))? {
            import.write(bytes).map_err(|error| message(&error))?;
        }
        import.finish().map_err(|error| message(&error))?;
    }
    plan.store_manifests(store)
}

/// Loads images from a built package, which is read once from its beginning to its end.
fn load_built(
    package: &PackageContents,
    images: &[&PackagedImage],
    store: &Store,
) -> Result<(), String> {
    let progress = Arc::new(Progress::default());
    let readers = package.source.readers(&progress);
    let Some((reader, base)) = readers.map_err(|error| message(&error))? else {
        return Err("the package has no archive of its images".to_owned());
    };
    let mut sink = ImageSink {
        images,
        store,
        plan: None,
        manifests: HashMap::new(),
        current: Vec::new(),
        bytes: Vec::new(),
        imports: Vec::new(),
        failure: None,
    };
    let read = reader.read(base, &mut sink);
    if let Some(failure) = sink.failure {
        return Err(failure);
    }
    read.map_err(|error| message(&error))?;
    match sink.plan {
        Some(plan) => plan.store_manifests(store),
        None => Err("the package has no images".to_owned()),
    }
}

/// Receives a package. Manifests come before blobs, so that the repositories of a blob are known when it arrives.
struct ImageSink<'s> {
    images: &'s [&'s PackagedImage],
    store: &'s Store,
    /// Made when the first blob arrives.
    plan: Option<Plan>,
    manifests: HashMap<Digest, Vec<u8>>,
    /// The entries that are being read.
    current: Vec<LockedEntry>,
    /// The manifest that is being read.
    bytes: Vec<u8>,
    /// The blob that is being read.
    imports: Vec<BlobImport>,
    failure: Option<String>,
}

impl ImageSink<'_> {
    fn plan(&mut self) -> Result<&Plan, String> {
        let plan = match self.plan.take() {
            Some(plan) => plan,
            None => self.make_plan()?,
        };
        Ok(self.plan.insert(plan))
    }

    fn make_plan(&self) -> Result<Plan, String> {
        let mut plan = Plan::default();
        for image in self.images {
            let repository = image.name.repository().path();
            let root = self.manifest(&image.digest, None)?;
            let mut all = vec![root];
            let mut next = 0;
            while let Some(manifest) = all.get(next).cloned() {
                next += 1;
                for child in manifest.parsed.children() {
                    // A platform that was left out is not in the package.
                    if self.manifests.contains_key(&child.digest) {
                        all.push(self.manifest(&child.digest, Some(&child.media_type))?);
                    }
                }
            }
            for manifest in all.iter().rev() {
                plan.add(repository, manifest);
            }
        }
        Ok(plan)
    }

    fn manifest(&self, digest: &Digest, kind: Option<&str>) -> Result<RawManifest, String> {
        let bytes = self.manifests.get(digest);
        let bytes = bytes.ok_or_else(|| format!("the package lacks the manifest {digest}"))?;
        let parsed = RawManifest::parse_with(digest.algorithm(), bytes.clone(), kind);
        parsed.map_err(|error| format!("manifest {digest}: {}", message(&error)))
    }

    fn begin_blob(&mut self, digest: &Digest) -> Result<(), String> {
        let store = self.store;
        let wanted = self.plan()?.wanted(digest, store);
        if let Some(repositories) = wanted.map_err(|error| message(&error))? {
            let import = store.import_blob(&repositories, digest);
            self.imports.push(import.map_err(|error| message(&error))?);
        }
        Ok(())
    }

    fn end_entries(&mut self) -> Result<(), String> {
        for import in self.imports.drain(..) {
            import.finish().map_err(|error| message(&error))?;
        }
        let is_manifest = |entry: &&LockedEntry| entry.kind == EntryKind::Manifest;
        if let Some(manifest) = self.current.iter().find(is_manifest) {
            let bytes = std::mem::take(&mut self.bytes);
            self.manifests.insert(manifest.digest.clone(), bytes);
        }
        Ok(())
    }

    /// Keeps a failure, and ends the read.
    fn checked(&mut self, result: Result<(), String>) -> Result<(), archive::Error> {
        result.map_err(|message| {
            self.failure.get_or_insert(message);
            archive::Error::canceled()
        })
    }
}

impl Sink for ImageSink<'_> {
    fn begin(&mut self, entries: &[LockedEntry]) -> Result<(), archive::Error> {
        self.bytes.clear();
        self.current = entries.to_vec();
        let blob = entries.iter().find(|entry| entry.kind == EntryKind::Blob);
        match blob.map(|blob| blob.digest.clone()) {
            Some(digest) => {
                let begun = self.begin_blob(&digest);
                self.checked(begun)
            }
            None => Ok(()),
        }
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), archive::Error> {
        let is_manifest = |entry: &LockedEntry| entry.kind == EntryKind::Manifest;
        if self.current.iter().any(is_manifest) {
            self.bytes.extend_from_slice(bytes);
        }
        let mut result = Ok(());
        for import in &self.imports {
            let written = import.write(Bytes::copy_from_slice(bytes));
            result = result.and_then(|()| written.map_err(|error| message(&error)));
        }
        self.checked(result)
    }

    fn end(&mut self) -> Result<(), archive::Error> {
        let result = self.end_entries();
        self.checked(result)
    }
}
