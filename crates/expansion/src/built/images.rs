//! The images of a built package: its index, manifests and blobs are complete, and nothing is carried by accident. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use outrigger_oci::{ArchivedImage, Descriptor, Digest, Manifest, OCI_INDEX, RawManifest};

use crate::lock::{Lock, LockedBlob};

/// The names of the images, or why they are not what the lock says.
pub(super) fn check(
    index: &[u8],
    manifests: &HashMap<Digest, Vec<u8>>,
    lock: &Lock,
) -> Result<Vec<String>, String> {
    let index = Manifest::parse(index, Some(OCI_INDEX));
    let index = index.map_err(|error| format!("is not an OCI layout: index.json: {error}"))?;
    let names = check_names(&index, lock)?;
    let mut walk = Walk {
        manifests,
        sizes: all_blobs(lock)
            .map(|blob| (&blob.digest, blob.size))
            .collect(),
        seen: BTreeSet::new(),
    };
    let mut left: Vec<Descriptor> = index.children().cloned().collect();
    while let Some(descriptor) = left.pop() {
        if walk.seen.insert(descriptor.digest.clone()) {
            left.extend(walk.manifest(&descriptor)?);
        }
    }
    let mut all = all_blobs(lock).map(|blob| &blob.digest);
    match all.find(|digest| !walk.seen.contains(digest)) {
        Some(digest) => Err(format!("has the blob {digest}, which belongs to no image")),
        None => Ok(names),
    }
}

fn all_blobs(lock: &Lock) -> impl Iterator<Item = &LockedBlob> {
    lock.manifests.iter().chain(&lock.blobs)
}

fn check_names(index: &Manifest, lock: &Lock) -> Result<Vec<String>, String> {
    let mut found: BTreeMap<String, Digest> = BTreeMap::new();
    for entry in index.children() {
        let image = ArchivedImage::of_index_entry(entry);
        for name in image.names {
            found.insert(name, image.digest.clone());
        }
    }
    if found != lock.images {
        return Err("has an index.json with other images than the lock".to_owned());
    }
    Ok(found.into_keys().collect())
}

struct Walk<'w> {
    manifests: &'w HashMap<Digest, Vec<u8>>,
    sizes: HashMap<&'w Digest, u64>,
    /// Manifests and blobs that belong to an image.
    seen: BTreeSet<Digest>,
}

impl Walk<'_> {
    /// Checks a manifest and its blobs. Returns the manifests below it.
    fn manifest(&mut self, descriptor: &Descriptor) -> Result<Vec<Descriptor>, String> {
        let digest = &descriptor.digest;
        let bytes = self.manifests.get(digest);
        let bytes = bytes.ok_or_else(|| format!("lacks the manifest {digest}"))?;
        let kind = Some(descriptor.media_type.as_str());
        let parsed = RawManifest::parse_with(digest.algorithm(), bytes.clone(), kind);
        let parsed =
            parsed.map_err(|error| format!("has an invalid manifest {digest}: {error}"))?;
        for blob in parsed.parsed.blobs().filter(|blob| !blob.is_foreign()) {
            let blob_digest = &blob.digest;
            match self.sizes.get(blob_digest) {
                Some(size) if *size == blob.size => {}
                Some(size) => {
                    return Err(format!(
                        "has the blob {blob_digest} with {size} bytes, and its manifest says {}",
                        blob.size
                    ));
                }
                None => return Err(format!("lacks the blob {blob_digest}")),
            }
            self.seen.insert(blob_digest.clone());
        }
        Ok(parsed.parsed.children().cloned().collect())
    }
}
