//! Tables: what `kubectl get` prints. The server makes the columns and the cells, the client lays them out.
//!
//! [`table`] is the whole answer, [`row`] one row of it for a watch. Built-in kinds have the real server's columns,
//! custom resources those of their definition, all others name and time of creation.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};

use crate::kinds::{Kind, convert};

mod cells;
mod cluster;
mod columns;
mod custom;
mod json_path;
mod moment;
mod networking;
mod pod;
mod storage;
mod workload;

pub use columns::Column;
pub use moment::Now;

/// What a row carries of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Include {
    None,
    #[default]
    Metadata,
    Object,
}

impl Include {
    /// Reads the parameter `includeObject`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "None" => Some(Self::None),
            "Metadata" | "" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// A table. Serializes in the order of the real server's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// `resourceVersion`, and `continue` and `remainingItemCount` of a part of a list.
    pub metadata: Map<String, Value>,
    /// Left out of all events of a watch but the first.
    pub columns: Option<Vec<Column>>,
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub cells: Vec<Value>,
    pub conditions: Option<Value>,
    pub object: Value,
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", "Table")?;
        map.serialize_entry("apiVersion", "meta.k8s.io/v1")?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("columnDefinitions", &self.columns)?;
        map.serialize_entry("rows", &self.rows)?;
        map.end()
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cells", &self.cells)?;
        if let Some(conditions) = &self.conditions {
            map.serialize_entry("conditions", conditions)?;
        }
        map.serialize_entry("object", &self.object)?;
        map.end()
    }
}

/// The table of some objects in their stored form. The metadata is that of the list, or the resource version of the
/// one object.
pub fn table<'a>(
    kind: &Kind,
    metadata: Map<String, Value>,
    objects: impl IntoIterator<Item = &'a Value>,
    include: Include,
    now: Now,
) -> Table {
    let mut objects: Vec<_> = objects.into_iter().collect();
    if kind.kind == "FlowSchema" {
        // The order in which they are tried.
        objects.sort_by_key(|object| object["spec"]["matchingPrecedence"].as_i64());
    }
    let rows = objects.into_iter();
    Table {
        metadata,
        columns: Some(columns::of(kind)),
        rows: rows.map(|object| row(kind, object, include, now)).collect(),
    }
}

/// An object without all but its metadata, as some clients ask for it.
pub fn partial_metadata(kind: &Kind, object: &Value) -> Value {
    let metadata = if kind.is_converted() {
        let mut served = object.clone();
        convert::from_storage(kind, &mut served);
        served["metadata"].take()
    } else {
        object["metadata"].clone()
    };
    let mut metadata = metadata;
    if kind.kind == "DaemonSet" && kind.group == "apps" {
        hide_template_generation(&mut metadata);
    }
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
    })
}

/// The real server keeps it in a field that metadata does not have.
fn hide_template_generation(metadata: &mut Value) {
    let annotations = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.remove("deprecated.daemonset.template.generation");
        if annotations.is_empty()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
}

/// The row of one object in its stored form.
pub fn row(kind: &Kind, object: &Value, include: Include, now: Now) -> Row {
    Row {
        cells: match &kind.custom {
            Some(custom) => custom::cells(custom, object, now),
            None => cells::of(kind, object, now),
        },
        conditions: pod::row_conditions(kind, object),
        object: included(kind, object, include),
    }
}

/// What the row carries, in the form in which the kind is served.
fn included(kind: &Kind, object: &Value, include: Include) -> Value {
    match include {
        Include::None => Value::Null,
        Include::Metadata => partial_metadata(kind, object),
        Include::Object => {
            let mut served = object.clone();
            convert::from_storage(kind, &mut served);
            served
        }
    }
}

#[cfg(test)]
mod tests;
