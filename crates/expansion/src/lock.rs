//! The lock of a built package: path, mode, size and digest of everything in it, in the order of the archive. Pure.

use std::collections::{BTreeMap, BTreeSet};

use outrigger_oci::Digest;
use serde::{Deserialize, Serialize};

use crate::layout::{self, IMAGES};
use crate::root::{DocumentError, check_version, text};
use crate::scan::MAX_ENTRIES;

/// The most manifests and blobs of a package.
const MAX_BLOBS: usize = 50_000;

/// The permission bits of manifests and blobs.
const BLOB_MODE: u32 = 0o644;

/// Everything that a built package consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lock {
    pub(crate) format_version: u32,
    /// Sorted by path.
    pub(crate) files: Vec<LockedFile>,
    /// The images, with the digests of their manifests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) images: BTreeMap<String, Digest>,
    /// Manifests of images, sorted by digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) manifests: Vec<LockedBlob>,
    /// Configurations and layers of images, sorted by digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) blobs: Vec<LockedBlob>,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LockedFile {
    pub(crate) path: String,
    /// Permission bits, in octal.
    #[serde(with = "octal")]
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) digest: Digest,
    /// Whether the base has the content, so that a delta does not carry it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) in_base: bool,
}

/// A manifest or blob of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LockedBlob {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) in_base: bool,
}

/// What an entry of a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    /// A manifest of an image.
    Manifest,
    /// A configuration or layer of an image.
    Blob,
}

/// An entry of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedEntry {
    pub kind: EntryKind,
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    pub size: u64,
    pub digest: Digest,
    /// Whether the base has the content, so that a delta does not carry it.
    pub in_base: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

impl Lock {
    /// Reads and checks a lock. What passes names plain paths inside of a folder, each once.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        check_version(bytes)?;
        let lock: Self = serde_json::from_slice(bytes).map_err(DocumentError::Json)?;
        lock.check_counts()?;
        lock.check_files()?;
        check_blobs(&lock.manifests)?;
        check_blobs(&lock.blobs)?;
        let manifests: BTreeSet<&Digest> = lock.manifests.iter().map(|blob| &blob.digest).collect();
        if let Some(twice) = lock
            .blobs
            .iter()
            .find(|blob| manifests.contains(&blob.digest))
        {
            return Err(refused(&blob_path(&twice.digest), "is listed twice"));
        }
        Ok(lock)
    }

    /// The text, which is the same for the same content.
    pub fn to_text(&self) -> String {
        text(self)
    }

    /// The images by name, with the digests of their manifests.
    pub fn images(&self) -> &BTreeMap<String, Digest> {
        &self.images
    }

    /// All entries in the order of the archive: files, manifests, blobs. Manifests come before blobs, so that a reader knows
    /// where a blob belongs when it arrives.
    pub fn entries(&self) -> impl Iterator<Item = LockedEntry> + '_ {
        let files = self.files.iter().map(LockedFile::entry);
        let manifests = self.manifests.iter();
        let manifests = manifests.map(|blob| blob.entry(EntryKind::Manifest));
        let blobs = self.blobs.iter();
        let blobs = blobs.map(|blob| blob.entry(EntryKind::Blob));
        files.chain(manifests).chain(blobs)
    }

    /// The bytes of all entries, or of those that the archive itself carries.
    pub fn size(&self, carried_only: bool) -> u64 {
        let entries = self.entries();
        let counted = entries.filter(|entry| !carried_only || !entry.in_base);
        // `parse` and `build` add with a check.
        counted.fold(0, |sum, entry| sum.saturating_add(entry.size))
    }

    fn check_counts(&self) -> Result<(), DocumentError> {
        if self.files.len() > MAX_ENTRIES {
            return Err(DocumentError::TooManyFiles(MAX_ENTRIES));
        }
        if self.manifests.len().saturating_add(self.blobs.len()) > MAX_BLOBS {
            return Err(DocumentError::TooManyFiles(MAX_BLOBS));
        }
        let sum = self
            .entries()
            .try_fold(0_u64, |sum, entry| sum.checked_add(entry.size));
        sum.map(drop).ok_or(DocumentError::Size)
    }

    fn check_files(&self) -> Result<(), DocumentError> {
        let mut previous: Option<&str> = None;
        let mut folders = BTreeSet::new();
        for file in &self.files {
            let path = file.path.as_str();
            if let Some(reason) = path_problem(path) {
                return Err(refused(path, reason));
            }
            match previous.map(|previous| previous.cmp(path)) {
                Some(std::cmp::Ordering::Equal) => return Err(refused(path, "is listed twice")),
                Some(std::cmp::Ordering::Greater) => return Err(refused(path, "is out of order")),
                Some(std::cmp::Ordering::Less) | None => previous = Some(path),
            }
            if file.mode > 0o777 {
                return Err(refused(path, "has a mode with more than permission bits"));
            }
            folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        match self
            .files
            .iter()
            .find(|file| folders.contains(file.path.as_str()))
        {
            Some(file) => Err(refused(&file.path, "is both a file and a folder")),
            None => Ok(()),
        }
    }
}

impl LockedFile {
    fn entry(&self) -> LockedEntry {
        LockedEntry {
            kind: EntryKind::File,
            path: self.path.clone(),
            mode: self.mode,
            size: self.size,
            digest: self.digest.clone(),
            in_base: self.in_base,
        }
    }
}

impl LockedBlob {
    fn entry(&self, kind: EntryKind) -> LockedEntry {
        LockedEntry {
            kind,
            path: blob_path(&self.digest),
            mode: BLOB_MODE,
            size: self.size,
            digest: self.digest.clone(),
            in_base: self.in_base,
        }
    }
}

/// Where a blob is in a package.
pub(crate) fn blob_path(digest: &Digest) -> String {
    format!(
        "{IMAGES}/blobs/{}/{}",
        digest.algorithm().name(),
        digest.hex()
    )
}

fn refused(path: &str, reason: &'static str) -> DocumentError {
    // The text of a hostile lock is shown, so that it is escaped.
    let path = format!("{path:?}");
    DocumentError::Entry { path, reason }
}

/// Why a path cannot be one of a package.
fn path_problem(path: &str) -> Option<&'static str> {
    if path.starts_with('/') {
        Some("is an absolute path")
    } else if path.split('/').any(|part| part == "..") {
        Some("leaves the package")
    } else if !layout::is_plain_path(path) {
        Some("is not a plain path")
    } else if path.len() > layout::MAX_PATH || path.split('/').count() > crate::scan::MAX_DEPTH {
        Some("is too long or too deep")
    } else if layout::is_metadata(path) {
        Some("is a name that built packages reserve")
    } else if path.starts_with(&format!("{IMAGES}/blobs/")) {
        Some("is a blob among the files")
    } else {
        None
    }
}

fn check_blobs(blobs: &[LockedBlob]) -> Result<(), DocumentError> {
    for pair in blobs.windows(2) {
        if let [first, second] = pair
            && first.digest >= second.digest
        {
            let reason = if first.digest == second.digest {
                "is listed twice"
            } else {
                "is out of order"
            };
            return Err(refused(&blob_path(&second.digest), reason));
        }
    }
    Ok(())
}

/// Permission bits as text: `0644`.
mod octal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(super) fn serialize<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{mode:04o}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_octal = text.len() == 4 && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let mode = is_octal
            .then(|| u32::from_str_radix(&text, 8).ok())
            .flatten();
        mode.ok_or_else(|| de::Error::custom(format_args!("{text:?} is not a mode such as 0644")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::FORMAT;

    fn file(path: &str) -> LockedFile {
        LockedFile {
            path: path.to_owned(),
            mode: 0o644,
            size: 1,
            digest: Digest::of(path.as_bytes()),
            in_base: false,
        }
    }

    fn blob(content: &[u8]) -> LockedBlob {
        LockedBlob {
            digest: Digest::of(content),
            size: content.len() as u64,
            in_base: false,
        }
    }

    fn lock(paths: &[&str]) -> Lock {
        Lock {
            format_version: FORMAT,
            files: paths.iter().map(|path| file(path)).collect(),
            ..Lock::default()
        }
    }

    #[track_caller]
    fn refusal(lock: &Lock) -> String {
        Lock::parse(lock.to_text().as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut lock = lock(&["expansion.yaml", "files/a", "files/a-b"]);
        lock.files[1].mode = 0o4;
        lock.files[1].in_base = true;
        lock.images.insert("a:1".to_owned(), Digest::of(b"1"));
        lock.manifests.push(blob(b"1"));
        lock.blobs.push(blob(b"22"));
        assert_eq!(Lock::parse(lock.to_text().as_bytes()).unwrap(), lock);
        assert_eq!((lock.size(false), lock.size(true)), (6, 5));
        let paths: Vec<String> = lock.entries().map(|entry| entry.path).collect();
        assert_eq!(paths[..3], ["expansion.yaml", "files/a", "files/a-b"]);
        assert_eq!(paths[4], blob_path(&Digest::of(b"22")));
    }

    #[test]
    fn paths_that_leave_the_package_or_appear_twice_are_refused() {
        let deep = "d/".repeat(70) + "x";
        let rows = [
            (&["/etc/passwd"][..], "\"/etc/passwd\": is an absolute path"),
            (&["files/../../x"], "\"files/../../x\": leaves the package"),
            (&["files//x"], "\"files//x\": is not a plain path"),
            (
                &["files/\u{1b}[2K"],
                "\"files/\\u{1b}[2K\": is not a plain path",
            ),
            (&["files/a", "files/a"], "\"files/a\": is listed twice"),
            (&["files/b", "files/a"], "\"files/a\": is out of order"),
            (
                &["files/a", "files/a-b", "files/a/b"],
                "\"files/a\": is both a file and a folder",
            ),
            (
                &[".outrigger/x"],
                "\".outrigger/x\": is a name that built packages reserve",
            ),
            (
                &["images/blobs/x"],
                "\"images/blobs/x\": is a blob among the files",
            ),
        ];
        for (paths, expected) in rows {
            assert_eq!(refusal(&lock(paths)), expected);
        }
        assert!(refusal(&lock(&[&deep])).ends_with("is too long or too deep"));
    }

    #[test]
    fn sizes_modes_and_blobs_are_checked() {
        let mut large = lock(&["files/a", "files/b"]);
        large.files[0].size = u64::MAX;
        assert!(refusal(&large).starts_with("the sizes of its files add up to more than"));
        let mut mode = lock(&["files/a"]);
        mode.files[0].mode = 0o4755;
        assert_eq!(
            refusal(&mode),
            "\"files/a\": has a mode with more than permission bits"
        );
        let mut twice = lock(&[]);
        twice.manifests.push(blob(b"1"));
        twice.blobs.push(blob(b"1"));
        assert!(refusal(&twice).ends_with("is listed twice"));
        twice.manifests.clear();
        twice.blobs.push(blob(b"1"));
        assert!(refusal(&twice).ends_with("is listed twice"));
    }
}
