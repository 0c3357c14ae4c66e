//! A byte stream that is hashed as it is consumed, for the digest at the end of a package.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use outrigger_oci::{Algorithm, Digest, Hasher};

use crate::progress::Progress;

/// A reader that hashes what is consumed of it, and no byte that was only buffered.
#[derive(Debug)]
pub(super) struct Hashed<R> {
    inner: R,
    hasher: Hasher,
    progress: Arc<Progress>,
}

impl<R: BufRead> Hashed<R> {
    pub(super) fn new(inner: R, progress: Arc<Progress>) -> Self {
        Self {
            inner,
            hasher: Algorithm::Sha256.hasher(),
            progress,
        }
    }

    /// The digest of what was consumed, and the rest.
    pub(super) fn finish(self) -> (Digest, R) {
        (self.hasher.finish(), self.inner)
    }
}

impl<R: BufRead> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl<R: BufRead> BufRead for Hashed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.progress.check()?;
        self.inner.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        // What is consumed is buffered, so that this neither reads nor fails.
        if length > 0
            && let Ok(buffered) = self.inner.fill_buf()
        {
            self.hasher.update(&buffered[..length.min(buffered.len())]);
        }
        self.progress.add(length as u64);
        self.inner.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_consumed_bytes_are_hashed() {
        let progress = Arc::new(Progress::default());
        let mut hashed = Hashed::new(io::BufReader::with_capacity(4, &b"abcdefgh"[..]), progress);
        let mut buffer = [0; 3];
        hashed.read_exact(&mut buffer).unwrap();
        assert_eq!(hashed.fill_buf().unwrap(), b"d");
        let (digest, mut rest) = hashed.finish();
        assert_eq!(digest, Digest::of(b"abc"));
        let mut left = String::new();
        rest.read_to_string(&mut left).unwrap();
        assert_eq!(left, "defgh");
    }
}
