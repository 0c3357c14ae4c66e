//! What a package will consist of: its documents, and where the content of each entry is.

use std::collections::{BTreeMap, HashSet};

use outrigger_oci::{Digest, Layout, LayoutFile, Platform};

use super::Error;
use super::files::{FileContent, PlannedFile};
use crate::archive::{self, Reader};
use crate::finding::Finding;
use crate::layout::IMAGES;
use crate::lock::{Lock, LockedBlob, LockedEntry, LockedFile};
use crate::package::Package;
use crate::root::{Base, FORMAT, Locked, Root};

/// A package that can be written.
#[derive(Debug)]
pub struct Plan {
    pub(super) root: Root,
    pub(super) lock: Lock,
    pub(super) lock_text: String,
    /// Where the content of each entry is, by its path.
    pub(super) contents: BTreeMap<String, Content>,
    /// What is not wrong, but may be.
    pub findings: Vec<Finding>,
    /// What was left out.
    pub notes: Vec<String>,
}

/// Where the content of an entry is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    File(FileContent),
    Image(LayoutFile),
}

impl Plan {
    /// Describes a package of files and images.
    pub(crate) fn new(
        package: &Package,
        files: Vec<PlannedFile>,
        layout: &Layout,
        platforms: &[Platform],
    ) -> Result<Self, Error> {
        let mut lock = Lock {
            format_version: FORMAT,
            ..Lock::default()
        };
        let mut contents = BTreeMap::new();
        for file in files {
            contents.insert(file.locked.path.clone(), Content::File(file.content));
            lock.files.push(file.locked);
        }
        add_images(layout, &mut lock, &mut contents);
        lock.files.sort_by(|a, b| a.path.cmp(&b.path));
        let root = Root {
            format_version: FORMAT,
            name: package.name.clone(),
            version: package.version.clone(),
            platforms: platforms.iter().map(ToString::to_string).collect(),
            lock: Locked {
                digest: Digest::of(b""),
                size: 0,
            },
            base: None,
        };
        let plan = Self {
            root,
            lock,
            lock_text: String::new(),
            contents,
            findings: Vec::new(),
            notes: Vec::new(),
        };
        plan.seal()
    }

    /// Completes the documents. What is written here can be read.
    fn seal(mut self) -> Result<Self, Error> {
        self.lock_text = self.lock.to_text();
        Lock::parse(self.lock_text.as_bytes())?;
        self.root.lock = Locked {
            digest: Digest::of(self.lock_text.as_bytes()),
            size: self.lock_text.len() as u64,
        };
        Ok(self)
    }

    /// Leaves what a base has to it, so that the package is a delta.
    pub(super) fn leave_to(self, base: &Reader) -> Result<Self, Error> {
        if base.root().base.is_some() {
            let path = base.input().path().to_owned();
            return Err(Error::Base(archive::Error::BaseIsDelta { path }));
        }
        let entries = base.lock().entries();
        let has: HashSet<(Digest, u64)> = entries.map(|entry| (entry.digest, entry.size)).collect();
        let mut plan = self;
        for file in &mut plan.lock.files {
            file.in_base = has.contains(&(file.digest.clone(), file.size));
        }
        for blob in plan.lock.manifests.iter_mut().chain(&mut plan.lock.blobs) {
            blob.in_base = has.contains(&(blob.digest.clone(), blob.size));
        }
        plan.root.base = Some(Base {
            digest: base.digest(),
            name: base.root().name.clone(),
            version: base.root().version.clone(),
        });
        plan.seal()
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// What the archive carries.
    pub(super) fn carried(&self) -> impl Iterator<Item = LockedEntry> + '_ {
        self.lock.entries().filter(|entry| !entry.in_base)
    }
}

fn add_images(layout: &Layout, lock: &mut Lock, contents: &mut BTreeMap<String, Content>) {
    let images = layout.images();
    lock.images = images
        .map(|(name, digest)| (name.to_owned(), digest.clone()))
        .collect();
    if lock.images.is_empty() {
        return;
    }
    for file in layout.index_files() {
        let path = format!("{IMAGES}/{}", file.name);
        lock.files.push(LockedFile {
            path: path.clone(),
            mode: 0o644,
            size: file.size,
            digest: file.digest.clone(),
            in_base: false,
        });
        contents.insert(path, Content::Image(file));
    }
    for file in layout.content() {
        let list = if file.is_manifest {
            &mut lock.manifests
        } else {
            &mut lock.blobs
        };
        list.push(LockedBlob {
            digest: file.digest.clone(),
            size: file.size,
            in_base: false,
        });
        let path = crate::lock::blob_path(&file.digest);
        contents.insert(path, Content::Image(file.clone()));
    }
    lock.manifests.sort_by(|a, b| a.digest.cmp(&b.digest));
    lock.blobs.sort_by(|a, b| a.digest.cmp(&b.digest));
}
