//! Responses with a list: rendered as a whole if it is small, otherwise while it is sent.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::Response;
use outrigger_apimachinery::status::Status;
use outrigger_store::Object;

use super::accept::Accept;
use super::gzip;
use super::item_list::{ItemList, RenderedList};
use super::response::{COMPRESS_FROM, compressed, whole, with_type};
use crate::server::{Body, Chunks, SplicedList, State};

/// Lists of objects that have no more bytes are rendered as a whole.
const MAX_WHOLE: usize = 256 * 1024;

/// A list of stored objects.
pub(crate) struct List {
    state: Arc<State>,
    content: Content,
    /// The size of all stored objects, and of the largest one.
    size: usize,
    largest: usize,
}

enum Content {
    /// JSON that is sent as it is stored.
    Stored(SplicedList),
    Items(ItemList),
}

impl List {
    /// A list that is sent as it is stored. Only for clients that accept compact JSON.
    pub(crate) fn stored(state: &Arc<State>, list: SplicedList) -> Self {
        Self {
            state: Arc::clone(state),
            size: usize::try_from(list.length()).unwrap_or(usize::MAX),
            largest: 0,
            content: Content::Stored(list),
        }
    }

    pub(crate) fn items(state: &Arc<State>, list: ItemList) -> Self {
        let sizes = || list.sources.iter().map(size_of);
        Self {
            state: Arc::clone(state),
            size: sizes().fold(0, usize::saturating_add),
            largest: sizes().max().unwrap_or_default(),
            content: Content::Items(list),
        }
    }

    pub(super) fn render(self, accept: Accept) -> Result<Response<Body>, Status> {
        let (chunks, content_type): (Chunks, _) = match self.content {
            Content::Stored(list) if !(accept.gzip && self.size > COMPRESS_FROM) => {
                return Ok(with_type(Body::list(list), "application/json"));
            }
            Content::Stored(list) => (Box::new(list.map(Ok)), "application/json"),
            Content::Items(list) => {
                let list = RenderedList::new(list, accept)?;
                let content_type = list.content_type();
                (Box::new(list), content_type)
            }
        };
        if self.size <= MAX_WHOLE {
            return Ok(whole(concatenated(chunks)?, content_type, accept.gzip));
        }
        if !accept.gzip {
            let body = Body::computed(self.state, chunks, self.largest);
            return Ok(with_type(body, content_type));
        }
        let memory = self.largest.saturating_add(gzip::ENCODER_MEMORY);
        let body = Body::computed(self.state, gzip::chunks(chunks), memory);
        Ok(compressed(body, content_type))
    }
}

fn size_of(object: &Arc<Object>) -> usize {
    object.bytes().len()
}

fn concatenated(chunks: Chunks) -> Result<Bytes, Status> {
    let mut all = BytesMut::new();
    for chunk in chunks {
        all.extend_from_slice(&chunk?);
    }
    Ok(all.freeze())
}

impl std::fmt::Debug for List {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The content may be secret.
        formatter
            .debug_struct("List")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
