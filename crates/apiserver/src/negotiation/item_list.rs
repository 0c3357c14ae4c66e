//! A list whose items are rendered one at a time, in any format.
//!
//! The chunks have the text that the list as a whole would have, so that the memory of only one item is needed.

use std::sync::Arc;

use bytes::Bytes;
use outrigger_apimachinery::status::Status;
use outrigger_goyaml::natural_order;
use outrigger_store::Object;
use serde_json::{Map, Value};

use super::accept::{Accept, Format};
use crate::server::body::CHUNK;

/// Makes the item of a list from its source.
pub(crate) type ItemOf<T> = Box<dyn Fn(&T) -> Result<Value, Status> + Send>;

/// The fields of a list, and how to make its items, by default from stored objects.
pub(crate) struct ItemList<T = Arc<Object>> {
    /// All fields but the items: `kind`, `apiVersion`, `metadata` and the like, in the order of JSON responses.
    pub(crate) fields: Vec<(&'static str, Value)>,
    /// `items` or `rows`.
    pub(crate) key: &'static str,
    pub(crate) sources: Vec<T>,
    pub(crate) item: ItemOf<T>,
}

impl<T> ItemList<T> {
    fn text(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(key, _)| *key == name);
        field
            .and_then(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

/// The chunks of a list.
pub(super) struct RenderedList<T> {
    layout: Layout,
    key: &'static str,
    head: Vec<u8>,
    tail: Vec<u8>,
    sources: std::vec::IntoIter<T>,
    item: ItemOf<T>,
    is_first: bool,
    is_done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Layout {
    Compact,
    Pretty,
    Yaml,
    /// With the `apiVersion` and the kind of the list.
    Protobuf(String, String),
}

impl<T> RenderedList<T> {
    pub(super) fn new(list: ItemList<T>, accept: Accept) -> Result<Self, Status> {
        let layout = Layout::of(&list, accept);
        let (head, tail) = layout.around(&list)?;
        Ok(Self {
            layout,
            key: list.key,
            head,
            tail,
            sources: list.sources.into_iter(),
            item: list.item,
            is_first: true,
            is_done: false,
        })
    }

    pub(super) fn content_type(&self) -> &'static str {
        match self.layout {
            Layout::Compact | Layout::Pretty => "application/json",
            Layout::Yaml => "application/yaml",
            Layout::Protobuf(..) => outrigger_protobuf::MEDIA_TYPE,
        }
    }

    fn chunk(&mut self) -> Result<Bytes, Status> {
        let mut chunk = std::mem::take(&mut self.head);
        while chunk.len() < CHUNK {
            let Some(source) = self.sources.next() else {
                chunk.append(&mut self.tail);
                self.is_done = true;
                break;
            };
            if !std::mem::replace(&mut self.is_first, false) {
                chunk.extend_from_slice(self.layout.separator());
            }
            let item = (self.item)(&source)?;
            chunk.extend(self.layout.item(self.key, item)?);
        }
        Ok(chunk.into())
    }
}

impl<T> Iterator for RenderedList<T> {
    type Item = Result<Bytes, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let chunk = self.chunk();
        self.is_done |= chunk.is_err();
        Some(chunk)
    }
}

impl Layout {
    /// A list that cannot be encoded in protobuf is JSON.
    fn of<T>(list: &ItemList<T>, accept: Accept) -> Self {
        let (version, kind) = (list.text("apiVersion"), list.text("kind"));
        match accept.format {
            Format::Yaml => Self::Yaml,
            Format::Protobuf if outrigger_protobuf::has_kind(version, kind) => {
                Self::Protobuf(version.to_owned(), kind.to_owned())
            }
            Format::Json if accept.pretty => Self::Pretty,
            Format::Json | Format::Protobuf => Self::Compact,
        }
    }

    fn separator(&self) -> &'static [u8] {
        match self {
            Self::Compact | Self::Pretty => b",",
            Self::Yaml | Self::Protobuf(..) => b"",
        }
    }

    /// An item as part of the list: what a list of only this item has between its brackets.
    fn item(&self, key: &'static str, item: Value) -> Result<Vec<u8>, Status> {
        let text = self.field(key, Value::Array(vec![item]))?;
        let (before, after) = match self {
            Self::Compact => (format!("\"{key}\":["), "]"),
            Self::Pretty => (format!("  \"{key}\": ["), "\n  ]"),
            Self::Yaml => (format!("{key}:\n"), ""),
            Self::Protobuf(..) => (String::new(), ""),
        };
        Ok(within(text, before.len(), after.len()))
    }

    /// A field, without what is around all fields of an object.
    fn field(&self, key: &'static str, value: Value) -> Result<Vec<u8>, Status> {
        let object = Value::Object(Map::from_iter([(key.to_owned(), value)]));
        Ok(match self {
            Self::Compact => {
                let text = serde_json::to_vec(&object).map_err(Status::internal)?;
                within(text, 1, 1)
            }
            Self::Pretty => {
                let text = serde_json::to_vec_pretty(&object).map_err(Status::internal)?;
                within(text, 2, 2)
            }
            Self::Yaml => outrigger_goyaml::try_write_json(&object).map_err(Status::internal)?,
            Self::Protobuf(version, kind) => {
                let encoded = outrigger_protobuf::encode_fields(version, kind, &object);
                encoded.unwrap_or_default()
            }
        })
    }

    /// What is before and after the items.
    fn around<T>(&self, list: &ItemList<T>) -> Result<(Vec<u8>, Vec<u8>), Status> {
        let (key, is_empty) = (list.key, list.sources.is_empty());
        let render = |fields: &[&(&'static str, Value)]| -> Result<Vec<Vec<u8>>, Status> {
            let fields = fields.iter();
            fields
                .map(|(name, value)| self.field(name, value.clone()))
                .collect()
        };
        let mut fields: Vec<_> = list.fields.iter().collect();
        Ok(match self {
            Self::Compact => {
                let fields = render(&fields)?;
                let key = format!(",\"{key}\":[").into_bytes();
                let head = [b"{".to_vec(), fields.join(&b','), key].concat();
                (head, b"]}".to_vec())
            }
            Self::Pretty => {
                let fields = render(&fields)?;
                let key = format!(",\n  \"{key}\": [").into_bytes();
                let head = [b"{\n".to_vec(), fields.join(b",\n".as_slice()), key].concat();
                let tail: &[u8] = if is_empty { b"]\n}" } else { b"\n  ]\n}" };
                (head, tail.to_vec())
            }
            Self::Yaml => {
                fields.sort_by(|a, b| natural_order(a.0, b.0));
                let before = fields.partition_point(|(name, _)| natural_order(name, key).is_lt());
                let (before, after) = fields.split_at(before);
                let mut head = render(before)?.concat();
                let empty = if is_empty { " []" } else { "" };
                head.extend(format!("{key}:{empty}\n").into_bytes());
                (head, render(after)?.concat())
            }
            Self::Protobuf(version, kind) => {
                let fields = render(&fields)?.concat();
                let length = fields.len().saturating_add(self.length(list)?);
                let (mut head, tail) = outrigger_protobuf::envelope(version, kind, length);
                head.extend(fields);
                (head, tail)
            }
        })
    }

    /// The length of all items.
    fn length<T>(&self, list: &ItemList<T>) -> Result<usize, Status> {
        let mut length: usize = 0;
        for source in &list.sources {
            let item = self.item(list.key, (list.item)(source)?)?;
            length = length.saturating_add(item.len());
        }
        Ok(length)
    }
}

/// A text without its first and last bytes.
fn within(mut text: Vec<u8>, before: usize, after: usize) -> Vec<u8> {
    text.truncate(text.len().saturating_sub(after));
    text.drain(..before.min(text.len()));
    text
}

#[cfg(test)]
mod tests;
