//! The memory of responses with large objects, from when they are rendered until they were sent.
//!
//! Lists are rendered while they are sent, and need the memory of one object. A client may take any time to read it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory for all large responses in bytes.
const MAX_MEMORY: usize = 256 * 1024 * 1024;

/// From how many bytes on a response is large.
const LARGE: usize = 256 * 1024;

/// The memory that large responses use.
#[derive(Debug, Default)]
pub(crate) struct ResponseMemory(Arc<AtomicUsize>);

/// The memory of one response.
#[derive(Debug)]
pub(super) struct HeldMemory {
    total: Arc<AtomicUsize>,
    size: usize,
}

impl ResponseMemory {
    /// Counts the memory of a response; none if there is not enough. One response always fits.
    pub(super) fn hold(&self, size: usize) -> Option<HeldMemory> {
        let size = if size < LARGE { 0 } else { size };
        let used = self.0.fetch_add(size, Ordering::Relaxed);
        let held = HeldMemory {
            total: Arc::clone(&self.0),
            size,
        };
        (size == 0 || used == 0 || used.saturating_add(size) <= MAX_MEMORY).then_some(held)
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.total.fetch_sub(self.size, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_responses_share_the_memory_and_small_ones_need_none() {
        let memory = ResponseMemory::default();
        let first = memory.hold(MAX_MEMORY + 1);
        assert!(first.is_some(), "one response always fits");
        assert!(memory.hold(LARGE).is_none());
        assert!(memory.hold(LARGE - 1).is_some());
        drop(first);
        assert!(memory.hold(LARGE).is_some());
        assert_eq!(memory.0.load(Ordering::Relaxed), 0);
    }
}
