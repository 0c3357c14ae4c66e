//! The archive of a built package: how its entries become bytes, and how every byte is verified when it is read.
//!
//! ```text
//! zstd frame │ .outrigger/root.json, .outrigger/signatures.json            what is signed; rewritten by `sign`
//! zstd frame │ .outrigger/lock.json, files, manifests, blobs, end of tar   one after the other, as the lock lists them
//! trailer    │ SHA-256 of all bytes before it, in a frame that zstd skips
//! ```
//!
//! Decompressed it is an ordinary tar. A reader compares each header with the one that the lock implies, so that an archive
//! cannot contain anything that the lock does not list. The trailer covers bits that no decoder interprets.

mod chunk;
mod error;
mod frame;
mod header;
mod input;
mod outdated;
mod output;
mod read;
mod stream;
mod write;

pub use chunk::{ChunkError, MIN_CHUNK};
pub use error::{Error, Refused};
pub use input::Input;
pub(crate) use outdated::remove_outdated_chunks;
pub(crate) use output::{chunk_path, folder_of, temporary_file};
pub use read::{Discard, Reader, Sink};
pub(crate) use write::{Documents, Writer};
pub use write::{Written, resign};

/// The compression level. Others yield other bytes for the same package.
const LEVEL: i32 = 3;

/// The largest window that a reader allocates, as a power of two. Level 3 uses 2 MiB.
const MAX_WINDOW_LOG: u32 = 23;

/// The size of the pieces in which content is read and written.
pub(crate) const PIECE: usize = 128 << 10;

/// The largest root document, and the largest document of signatures.
pub(crate) const MAX_DOCUMENT: u64 = 256 << 10;

/// The largest lock.
pub(crate) const MAX_LOCK: u64 = 24 << 20;
