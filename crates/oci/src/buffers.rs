//! A limit for the bytes that all uploads of a client keep in memory, however many blobs they send.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// What one read of a blob may return: the read buffer of a connection, or a chunk of a file.
const MAX_CHUNK: u32 = 512 << 10;

/// The buffers of all uploads of a client.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    /// Free bytes
    free: Arc<Semaphore>,
    /// What is taken for one read
    reserved: u32,
}

/// Room for one chunk that is not read yet.
#[derive(Debug)]
pub(crate) struct Reservation(OwnedSemaphorePermit);

/// A chunk that takes room until it is sent.
struct Buffered {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Buffered {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Buffers {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            free: Arc::new(Semaphore::new(limit.max(1) as usize)),
            reserved: limit.clamp(1, MAX_CHUNK),
        }
    }

    /// Waits for room for one chunk.
    pub(crate) async fn reserve(&self) -> Result<Reservation, Error> {
        let free = Arc::clone(&self.free);
        let room = free.acquire_many_owned(self.reserved).await;
        room.map(Reservation).map_err(|_| Error::Canceled)
    }
}

impl Reservation {
    /// The chunk, which gives its room back when its last copy is dropped. What it does not need is given back at once.
    pub(crate) fn hold(mut self, bytes: Bytes) -> Bytes {
        let unused = self.0.num_permits().saturating_sub(bytes.len());
        drop(self.0.split(unused));
        Bytes::from_owner(Buffered {
            bytes,
            _room: self.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn chunks_take_room_until_their_last_copy_is_dropped() {
        let buffers = Buffers::new(1000);
        let first = buffers.reserve().await.unwrap();
        assert!(buffers.reserve().now_or_never().is_none());
        let first = first.hold(Bytes::from_static(&[1; 400]));
        let copy = first.slice(100..200);
        assert_eq!(buffers.free.available_permits(), 600);
        drop(first);
        assert_eq!(buffers.free.available_permits(), 600);
        drop(copy);
        assert_eq!(buffers.free.available_permits(), 1000);
        // A chunk that is larger than expected is not held up.
        let large = buffers.reserve().await.unwrap();
        let large = large.hold(Bytes::from_static(&[1; 4000]));
        assert_eq!(large.len(), 4000);
        assert_eq!(buffers.free.available_permits(), 0);
    }
}
