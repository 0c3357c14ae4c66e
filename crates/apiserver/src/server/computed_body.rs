//! Bodies that are computed while they are sent.
//!
//! Each chunk is computed on a thread for expensive requests when the one before was sent. So a client that does not read
//! occupies the memory of one chunk, and no thread.

use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use outrigger_apimachinery::status::Status;

use super::State;
use super::body::Error;
use super::expensive::Closed;
use super::response_memory::HeldMemory;
use crate::panics;

/// The chunks of a body.
pub(crate) type Chunks = Box<dyn Iterator<Item = Result<Bytes, Status>> + Send>;

/// The memory of each chunk is counted as far as it exceeds `held`. After an error the stream ends, and the connection with
/// it: the client must not take the body for complete.
pub(super) fn stream(
    state: Arc<State>,
    chunks: Chunks,
    held: usize,
) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    futures::stream::try_unfold((chunks, None), move |(chunks, memory)| {
        let state = Arc::clone(&state);
        async move {
            // The chunk before was sent.
            drop(memory);
            let next = next(&state, chunks, held).await;
            next.inspect_err(|error| {
                tracing::error!(%error, "failed to compute a response");
                state.metrics.request_aborted();
            })
        }
    })
}

/// The next chunk, the chunks after it, and its memory.
async fn next(
    state: &State,
    mut chunks: Chunks,
    held: usize,
) -> Result<Option<(Bytes, (Chunks, Option<HeldMemory>))>, Error> {
    let compute = |_| async move { (panics::catch(|| chunks.next()), chunks) };
    let computed = state.expensive.run(state.closed.clone(), compute).await;
    let (chunk, chunks) = computed.map_err(|Closed| Error::Closed)?;
    let Some(chunk) = chunk?.transpose().map_err(Error::Failed)? else {
        return Ok(None);
    };
    let memory = state.response_memory.hold(chunk.len().saturating_sub(held));
    let memory = memory.ok_or(Error::OutOfMemory)?;
    Ok(Some((chunk, (chunks, Some(memory)))))
}
