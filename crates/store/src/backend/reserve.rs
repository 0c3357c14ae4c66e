//! Disk space that is kept for transactions that free space, so that objects can be deleted when the disk is full.

use std::io;

/// Far more than the pages that a batch of deletions rewrites: at most a few for each object.
pub(crate) const RESERVED_BYTES: u64 = 8 * 1024 * 1024;

/// The reserve of one store.
pub(crate) trait Reserve: Send {
    /// Allocates [`RESERVED_BYTES`], unless they are allocated.
    fn allocate(&self) -> io::Result<()>;

    /// Makes them available to the store.
    fn release(&self) -> io::Result<()>;
}
