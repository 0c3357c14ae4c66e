//! The objects of one resource in key order, copied on write: snapshots share the chunks with the writer, which copies
//! only the chunk that it changes.

use std::sync::Arc;

use super::key::Key;
use super::object::Object;

/// The maximum number of objects in a chunk. Small, because a change copies a shared chunk.
const CHUNK: usize = 64;

type Chunk = Vec<Arc<Object>>;

/// A sorted set of objects in chunks. No chunk is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Collection {
    chunks: Vec<Arc<Chunk>>,
}

impl Collection {
    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        let chunk = self.chunks.get(self.chunk_of(key)?)?;
        let at = search(chunk, key).ok()?;
        chunk.get(at)
    }

    /// Inserts `object` and returns the version that it replaces.
    pub(super) fn insert(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        let Some(index) = self.chunk_of(object.key()) else {
            self.prepend(object);
            return None;
        };
        let chunk = &mut self.chunks[index];
        let at = match search(chunk, object.key()) {
            Ok(at) => {
                let old = std::mem::replace(&mut Arc::make_mut(chunk)[at], object);
                return Some(old);
            }
            Err(at) => at,
        };
        if chunk.len() < CHUNK {
            Arc::make_mut(chunk).insert(at, object);
        } else {
            self.split(index, at, object);
        }
        None
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<Object>> {
        let index = self.chunk_of(key)?;
        let at = search(&self.chunks[index], key).ok()?;
        let chunk = Arc::make_mut(&mut self.chunks[index]);
        let old = chunk.remove(at);
        if chunk.len() < CHUNK / 4 {
            self.merge(index);
        }
        Some(old)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The objects whose keys begin with `prefix` and follow `after`.
    pub(super) fn range<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&Key>,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        let (chunk, at) = match after {
            Some(key) if key.as_str() >= prefix => self.position(|object| object.key() <= key),
            _ => self.position(|object| object.key().as_str() < prefix),
        };
        let rest = self.chunks.get(chunk + 1..).unwrap_or_default();
        let first = self.chunks.get(chunk).map_or(&[][..], |chunk| &chunk[at..]);
        first
            .iter()
            .chain(rest.iter().flat_map(|chunk| chunk.iter()))
            .take_while(move |object| object.key().as_str().starts_with(prefix))
    }

    /// The first object for which `before` does not hold.
    fn position(&self, before: impl Fn(&Object) -> bool) -> (usize, usize) {
        let chunk = self
            .chunks
            .partition_point(|chunk| chunk.last().is_some_and(|object| before(object)));
        let at = self
            .chunks
            .get(chunk)
            .map_or(0, |chunk| chunk.partition_point(|object| before(object)));
        (chunk, at)
    }

    /// The chunk in which `key` belongs; none if `key` precedes all.
    fn chunk_of(&self, key: &Key) -> Option<usize> {
        self.chunks
            .partition_point(|chunk| chunk.first().is_some_and(|first| first.key() <= key))
            .checked_sub(1)
    }

    fn prepend(&mut self, object: Arc<Object>) {
        match self.chunks.first_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).insert(0, object),
            None => self.chunks.insert(0, new_chunk([object])),
        }
    }

    /// Adds to a full chunk. Appending, as when loading in order, leaves the chunk full.
    fn split(&mut self, index: usize, at: usize, object: Arc<Object>) {
        let chunk = Arc::make_mut(&mut self.chunks[index]);
        let upper = if at == chunk.len() {
            new_chunk([object])
        } else {
            let upper = new_chunk(chunk.drain(CHUNK / 2..));
            let mut upper = upper;
            match at.checked_sub(CHUNK / 2) {
                Some(at) => Arc::make_mut(&mut upper).insert(at, object),
                None => chunk.insert(at, object),
            }
            upper
        };
        self.chunks.insert(index + 1, upper);
    }

    /// Merges a small chunk with a neighbor if both fit into half a chunk.
    fn merge(&mut self, index: usize) {
        if self.chunks[index].is_empty() {
            self.chunks.remove(index);
            return;
        }
        let lower = index.saturating_sub(1);
        let Some([first, second]) = self.chunks.get(lower..lower + 2) else {
            return;
        };
        if first.len() + second.len() <= CHUNK / 2 {
            let second = self.chunks.remove(lower + 1);
            Arc::make_mut(&mut self.chunks[lower]).extend(second.iter().cloned());
        }
    }
}

fn search(chunk: &Chunk, key: &Key) -> Result<usize, usize> {
    chunk.binary_search_by(|object| object.key().cmp(key))
}

fn new_chunk(objects: impl IntoIterator<Item = Arc<Object>>) -> Arc<Chunk> {
    let mut chunk = Vec::with_capacity(CHUNK);
    chunk.extend(objects);
    Arc::new(chunk)
}

#[cfg(test)]
mod tests;
