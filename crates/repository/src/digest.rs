//! SHA-256 digests.

use sha2::{Digest as _, Sha256};

/// The hex digits of a digest, without the optional prefix `sha256:`.
pub(crate) fn hex(digest: &str) -> String {
    let digest = digest.trim();
    digest
        .strip_prefix("sha256:")
        .unwrap_or(digest)
        .to_ascii_lowercase()
}

/// The digest of bytes, in hex.
pub(crate) fn of(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.add(bytes);
    hasher.finish()
}

/// The digest of several parts, each preceded by its length, so that different lists have different digests.
pub(crate) fn of_parts(parts: &[&[u8]]) -> String {
    let mut hasher = Hasher::default();
    for part in parts {
        hasher.add_part(part);
    }
    hasher.finish()
}

/// An incremental SHA-256.
#[derive(Default)]
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn add_part(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub(crate) fn finish(self) -> String {
        let bytes = self.0.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_strips_the_algorithm_and_normalizes_the_case() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(b""), empty);
        assert_eq!(
            hex(&format!(
                " sha256:{} ",
                empty.to_uppercase().replace("SHA256", "sha256")
            )),
            empty
        );
        assert_ne!(of_parts(&[b"ab", b"c"]), of_parts(&[b"a", b"bc"]));
    }
}
