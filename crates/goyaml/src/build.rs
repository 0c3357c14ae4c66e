//! Builds values on the fast path, with two stacks instead of recursion.

use std::borrow::Cow;

use crate::Builder;
use crate::fast_path::Sink;
use crate::resolve::Resolved;

/// A sink that builds values with a [`Builder`].
#[derive(Debug)]
pub(crate) struct BuilderSink<'a, 'b, B: Builder> {
    builder: &'b mut B,
    /// Items of open lists, and the finished document.
    items: Vec<B::Value>,
    /// Entries of open maps.
    entries: Vec<(Cow<'a, str>, B::Value)>,
    open: Vec<Open<'a>>,
}

#[derive(Debug)]
enum Open<'a> {
    /// The index of its first item.
    List(usize),
    /// The index of its first entry, and the key of the next value.
    Map(usize, Option<Cow<'a, str>>),
}

impl<'b, B: Builder> BuilderSink<'_, 'b, B> {
    pub(crate) fn new(builder: &'b mut B) -> Self {
        Self {
            builder,
            items: Vec::new(),
            entries: Vec::new(),
            open: Vec::new(),
        }
    }

    /// The document, if there was one.
    pub(crate) fn finish(mut self) -> Option<B::Value> {
        self.items.pop()
    }

    fn put(&mut self, value: B::Value) {
        match self.open.last_mut() {
            Some(Open::Map(_, key)) => {
                if let Some(key) = key.take() {
                    self.entries.push((key, value));
                }
            }
            Some(Open::List(_)) | None => self.items.push(value),
        }
    }
}

impl<'a, B: Builder> Sink<'a> for BuilderSink<'a, '_, B> {
    const USES_SCALARS: bool = true;

    fn key(&mut self, key: Cow<'a, str>) {
        if let Some(Open::Map(_, slot)) = self.open.last_mut() {
            *slot = Some(key);
        }
    }

    fn scalar(&mut self, text: Cow<'a, str>, resolved: Resolved) {
        let value = build_scalar(self.builder, text, resolved);
        self.put(value);
    }

    fn begin_list(&mut self) {
        self.open.push(Open::List(self.items.len()));
    }

    fn end_list(&mut self) {
        if let Some(Open::List(start)) = self.open.pop() {
            let items = self.items.split_off(start);
            let value = self.builder.list(items);
            self.put(value);
        }
    }

    fn begin_map(&mut self) {
        self.open.push(Open::Map(self.entries.len(), None));
    }

    fn end_map(&mut self) {
        if let Some(Open::Map(start, _)) = self.open.pop() {
            let entries = unique(self.entries.split_off(start));
            let value = self.builder.map(entries);
            self.put(value);
        }
    }

    fn skips_text(&self) -> bool {
        false
    }
}

pub(crate) fn build_scalar<B: Builder>(
    builder: &mut B,
    text: Cow<'_, str>,
    resolved: Resolved,
) -> B::Value {
    match resolved {
        Resolved::Null => builder.null(),
        Resolved::Bool(value) => builder.bool(value),
        Resolved::Int(value) => builder.int(value),
        Resolved::Uint(value) => builder.uint(value),
        Resolved::Float(value) => builder.float(value),
        Resolved::Timestamp | Resolved::Text => builder.string(text),
    }
}

/// Removes all but the last of the entries with equal keys.
pub(crate) fn unique<K: Ord, V>(mut entries: Vec<(K, V)>) -> Vec<(K, V)> {
    let overwritten = overwritten_entries(&entries);
    if !overwritten.is_empty() {
        let mut at = 0;
        entries.retain(|_| {
            at += 1;
            overwritten.binary_search(&(at - 1)).is_err()
        });
    }
    entries
}

/// The indexes of entries that a later entry overwrites, in order.
fn overwritten_entries<K: Ord, V>(entries: &[(K, V)]) -> Vec<usize> {
    const FEW: usize = 16;
    if entries.len() <= FEW {
        return (0..entries.len())
            .filter(|&at| {
                let key = &entries[at].0;
                entries[at + 1..].iter().any(|(other, _)| other == key)
            })
            .collect();
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|&a, &b| entries[a].0.cmp(&entries[b].0));
    let mut overwritten: Vec<usize> = order
        .windows(2)
        .filter(|pair| entries[pair[0]].0 == entries[pair[1]].0)
        .map(|pair| pair[0])
        .collect();
    overwritten.sort_unstable();
    overwritten
}
