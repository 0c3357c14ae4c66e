//! A JSON list of stored objects, whose bytes are concatenated while it is sent.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use outrigger_store::Object;

use super::body::CHUNK;

/// Objects joined with commas, between a head and a tail. Iterates over the chunks.
#[derive(Debug)]
pub(crate) struct SplicedList {
    head: Bytes,
    objects: std::vec::IntoIter<Arc<Object>>,
    /// How many bytes at the start of each object are replaced by an opening brace.
    skipped: usize,
    is_first: bool,
    tail: Bytes,
    left: u64,
}

impl SplicedList {
    /// An opening brace replaces the first `skipped` bytes of each object.
    pub(crate) fn new(
        head: Vec<u8>,
        objects: Vec<Arc<Object>>,
        skipped: usize,
        tail: Vec<u8>,
    ) -> Self {
        let braces = u64::from(skipped > 0);
        let lengths = objects.iter().map(|object| {
            let kept = object.bytes().len().saturating_sub(skipped) as u64;
            kept.saturating_add(braces)
        });
        let commas = objects.len().saturating_sub(1);
        let parts = [head.len(), tail.len(), commas].map(|length| length as u64);
        let left = parts.into_iter().chain(lengths);
        let left = left.fold(0, u64::saturating_add);
        Self {
            head: head.into(),
            objects: objects.into_iter(),
            skipped,
            is_first: true,
            tail: tail.into(),
            left,
        }
    }

    /// The length of the chunks that are left.
    pub(crate) fn length(&self) -> u64 {
        self.left
    }
}

impl Iterator for SplicedList {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let size = usize::try_from(self.left)
            .unwrap_or(CHUNK)
            .min(CHUNK + CHUNK / 4);
        let mut chunk = BytesMut::with_capacity(size);
        chunk.extend_from_slice(&std::mem::take(&mut self.head));
        while chunk.len() < CHUNK {
            let Some(object) = self.objects.next() else {
                chunk.extend_from_slice(&std::mem::take(&mut self.tail));
                break;
            };
            if !std::mem::replace(&mut self.is_first, false) {
                chunk.extend_from_slice(b",");
            }
            if self.skipped > 0 {
                chunk.extend_from_slice(b"{");
            }
            chunk.extend_from_slice(&object.bytes()[self.skipped..]);
        }
        self.left = self.left.saturating_sub(chunk.len() as u64);
        Some(chunk.freeze())
    }
}
