//! The defaults of each type. A rule sees an object whose empty fields are absent, and the outer object's rule has
//! already run.

use std::sync::LazyLock;

use outrigger_apimachinery::quantity::Quantity;
use outrigger_structural::go_types::{self, Defaulter, StructId};
use serde_json::{Map, Value, json};

mod extensions;
mod networking;
mod pods;
mod storage;
mod workloads;

/// Sets the defaults of an object of one type.
pub(super) type Rule = fn(&mut Map<String, Value>);

/// The rule of a Go type: `core/v1.Pod`.
pub(super) fn of_type(name: &str) -> Option<Rule> {
    pods::of_type(name)
        .or_else(|| workloads::of_type(name))
        .or_else(|| networking::of_type(name))
        .or_else(|| storage::of_type(name))
        .or_else(|| extensions::of_type(name))
}

/// The defaulting rules of all built-in types.
pub(super) struct Rules;

/// The rules by [`StructId::index`].
static BY_STRUCT: LazyLock<Vec<Option<Rule>>> = LazyLock::new(|| {
    let structs = go_types::structs().iter();
    structs.map(|type_| of_type(type_.name)).collect()
});

impl Defaulter for Rules {
    fn default_struct(&self, id: StructId, object: &mut Map<String, Value>) {
        if let Some(Some(rule)) = BY_STRUCT.get(id.index()) {
            rule(object);
        }
    }

    /// Amounts are rounded up to thousandths.
    fn default_resource_list(&self, list: &mut Map<String, Value>) {
        for (_, amount) in list {
            if let Some(Ok(quantity)) = amount.as_str().map(Quantity::parse) {
                *amount = quantity.to_millis().canonical().into();
            }
        }
    }
}

/// Sets fields that are absent.
fn default<const N: usize>(object: &mut Map<String, Value>, fields: [(&str, Value); N]) {
    for (key, value) in fields {
        object.entry(key).or_insert(value);
    }
}

/// The object in a field, made if absent. Nothing if the field holds something else.
fn part<'a>(object: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    object
        .entry(key)
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

/// The objects in a list.
fn items<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
    object
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Copies the labels of a template to the object itself if it has none.
fn labels_from_template(object: &mut Map<String, Value>, labels: Option<Value>) {
    let Some(labels) = labels else {
        return;
    };
    if let Some(metadata) = part(object, "metadata") {
        metadata.entry("labels").or_insert(labels);
    }
}

fn template_labels(object: &Map<String, Value>) -> Option<Value> {
    let labels = &object.get("spec")?["template"]["metadata"]["labels"];
    labels.is_object().then(|| labels.clone())
}
