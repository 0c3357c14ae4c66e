//! Compression of responses, as a whole or chunk by chunk.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_apimachinery::status::Status;

use crate::server::Chunks;

/// About how much memory an encoder needs.
pub(super) const ENCODER_MEMORY: usize = 300 * 1024;

pub(super) fn whole(bytes: &[u8]) -> Vec<u8> {
    let out = Vec::with_capacity(bytes.len() / 8);
    let mut encoder = GzEncoder::new(out, Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Compresses chunks one at a time.
pub(super) fn chunks(chunks: Chunks) -> Chunks {
    Box::new(Compressed {
        chunks,
        encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())),
    })
}

struct Compressed {
    chunks: Chunks,
    /// None at the end.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Iterator for Compressed {
    type Item = Result<Bytes, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let encoder = self.encoder.as_mut()?;
            match self.chunks.next() {
                Some(Ok(chunk)) => {
                    // Writing to memory does not fail.
                    let _ = encoder.write_all(&chunk);
                    let out = std::mem::take(encoder.get_mut());
                    if !out.is_empty() {
                        return Some(Ok(out.into()));
                    }
                }
                Some(Err(status)) => return Some(Err(status)),
                None => {
                    let rest = self.encoder.take()?.finish();
                    return Some(Ok(rest.unwrap_or_default().into()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn chunks_are_compressed_like_the_whole() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let parts: Vec<_> = text
            .chunks(7_000)
            .map(|part| Ok(Bytes::copy_from_slice(part)))
            .collect();
        let compressed = chunks(Box::new(parts.into_iter()));
        let compressed: Vec<u8> = compressed.flat_map(Result::unwrap).collect();
        for compressed in [compressed, whole(&text)] {
            let mut read = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(compressed.as_slice());
            decoder.read_to_end(&mut read).unwrap();
            assert!(read == text);
        }
    }
}
