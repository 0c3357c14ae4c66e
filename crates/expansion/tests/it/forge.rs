//! Makes archives byte by byte, independently of the code that builds packages: right ones, and those that nobody would build.

use outrigger_oci::Digest;
use serde_json::{Value, json};
use tar::{EntryType, Header};

/// An archive that is written as it is described, whether that makes sense or not.
#[derive(Clone)]
pub(crate) struct Forged {
    pub(crate) root: Value,
    /// The text of the root document instead of `root`.
    pub(crate) root_text: Option<String>,
    pub(crate) lock: Value,
    /// Entries before the root document.
    pub(crate) first: Vec<Vec<u8>>,
    /// Entries between the root document and the lock.
    pub(crate) after_root: Vec<Vec<u8>>,
    /// Headers with their content.
    pub(crate) entries: Vec<Vec<u8>>,
    pub(crate) end: Vec<u8>,
    /// Whether the archive ends with its digest.
    pub(crate) has_digest: bool,
    /// What follows the digest.
    pub(crate) tail: Vec<u8>,
}

/// An entry with its content and the zeros after it.
pub(crate) fn entry(path: &str, content: &[u8]) -> Vec<u8> {
    special(EntryType::Regular, path, content)
}

/// An entry of any kind, with any path.
pub(crate) fn special(kind: EntryType, path: &str, content: &[u8]) -> Vec<u8> {
    with_header(kind, path, content, |_| {})
}

pub(crate) fn with_header(
    kind: EntryType,
    path: &str,
    content: &[u8],
    change: impl FnOnce(&mut Header),
) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    change(&mut header);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

pub(crate) const DEFINITION: &str = "name: forged\nfiles: [etc/a]\n";

fn locked(path: &str, content: &[u8]) -> Value {
    json!({"path": path, "mode": "0644", "size": content.len(), "digest": Digest::of(content)})
}

impl Forged {
    /// A package without anything wrong.
    pub(crate) fn new() -> Self {
        Self {
            root: json!({"formatVersion": 1, "name": "forged"}),
            root_text: None,
            lock: json!({"formatVersion": 1, "files": [
                locked("expansion.yaml", DEFINITION.as_bytes()),
                locked("files/etc/a", b"a\n"),
            ]}),
            first: Vec::new(),
            after_root: Vec::new(),
            entries: vec![
                entry("expansion.yaml", DEFINITION.as_bytes()),
                entry("files/etc/a", b"a\n"),
            ],
            end: vec![0; 1024],
            has_digest: true,
            tail: Vec::new(),
        }
    }

    /// Adds a file to the lock and to the archive.
    pub(crate) fn add(&mut self, path: &str, content: &[u8]) {
        let files = self.lock["files"].as_array_mut().unwrap();
        files.push(locked(path, content));
        files.sort_by_key(|file| file["path"].to_string());
        self.entries.push(entry(path, content));
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let lock = format!("{:#}\n", self.lock);
        let mut root = self.root.clone();
        if root["lock"].is_null() {
            root["lock"] = json!({"digest": Digest::of(lock.as_bytes()), "size": lock.len()});
        }
        let root = self
            .root_text
            .clone()
            .unwrap_or_else(|| format!("{root:#}\n"));
        let mut head = self.first.concat();
        head.extend(entry(".outrigger/root.json", root.as_bytes()));
        head.extend(self.after_root.concat());
        let mut body = entry(".outrigger/lock.json", lock.as_bytes());
        body.extend(self.entries.concat());
        body.extend(&self.end);
        let mut bytes = zstd::encode_all(&head[..], 3).unwrap();
        bytes.extend(zstd::encode_all(&body[..], 3).unwrap());
        if self.has_digest {
            let digest = Digest::of(&bytes).to_string();
            bytes.extend(0x184D_2A5E_u32.to_le_bytes());
            bytes.extend(71_u32.to_le_bytes());
            bytes.extend(digest.as_bytes());
        }
        bytes.extend(&self.tail);
        bytes
    }
}
