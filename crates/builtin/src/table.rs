//! `metav1.Table`, which `kubectl get` prints.
//!
//! [`table`] is the response to a get or list, [`row`] a single row for a watch. Built-in kinds have the columns of
//! kube-apiserver, custom resources those of their `CustomResourceDefinition`.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};

use crate::apps::daemon_set;
use crate::core::pod;
use crate::kinds::{Kind, convert};

pub(crate) mod cells;
mod cluster;
mod columns;
mod custom;
pub mod moment;
mod networking;
mod storage;
mod workload;

pub use columns::Column;
pub use moment::Now;

/// `includeObject`: what a row includes of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Include {
    None,
    #[default]
    Metadata,
    Object,
}

impl Include {
    /// Parses the query parameter `includeObject`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "None" => Some(Self::None),
            "Metadata" | "" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// `metav1.Table`. Serializes its fields in the order of kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// `ListMeta`: `resourceVersion`, and for a chunk of a list `continue` and `remainingItemCount`.
    pub metadata: Map<String, Value>,
    /// `None` in all events of a watch but the first.
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

/// The table with these rows. `metadata` is that of the list, or the resource version of the single object.
pub fn table(kind: &Kind, metadata: Map<String, Value>, rows: Vec<Row>) -> Table {
    Table {
        metadata,
        columns: Some(columns::of(kind)),
        rows,
    }
}

/// The columns of a table.
pub fn columns(kind: &Kind) -> Vec<Column> {
    columns::of(kind)
}

/// By what the rows of a table are sorted; none if they have the order of the list.
pub fn position(kind: &Kind) -> Option<fn(&Value) -> Option<i64>> {
    match kind.kind.as_str() {
        // The order in which they are matched.
        "FlowSchema" => Some(|object| object["spec"]["matchingPrecedence"].as_i64()),
        _ => None,
    }
}

/// `PartialObjectMetadata` of an object.
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
        daemon_set::hide_template_generation(&mut metadata);
    }
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
    })
}

/// The row of an object: a custom resource as it is served, a built-in kind as it is stored.
pub fn row(kind: &Kind, object: &Value, include: Include, now: Now) -> Row {
    Row {
        cells: match &kind.custom {
            Some(custom) => custom::cells(custom, object, now),
            None => cells::of(kind, object, now),
        },
        conditions: pod::table::row_conditions(kind, object),
        object: included(kind, object, include),
    }
}

/// The object in a row, converted to the served version.
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
