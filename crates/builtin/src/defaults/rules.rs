//! Dispatches to the defaults of each type. A rule is called after the rule of the outer object, and on an object without
//! empty fields.

use std::sync::LazyLock;

use outrigger_apimachinery::quantity::Quantity;
use outrigger_structural::go_types::{self, Defaulter, StructId};
use serde_json::{Map, Value};

use crate::core::pod;

mod extensions;
mod networking;
mod storage;
mod workloads;

/// Sets the defaults of an object of one type.
pub(crate) type Rule = fn(&mut Map<String, Value>);

/// The rule of a Go type: `core/v1.Pod`.
fn of_type(name: &str) -> Option<Rule> {
    pod::defaults::of_type(name)
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

    /// Rounds quantities up to thousandths.
    fn default_resource_list(&self, list: &mut Map<String, Value>) {
        for (_, amount) in list {
            if let Some(Ok(quantity)) = amount.as_str().map(Quantity::parse) {
                let rounded = quantity.to_millis();
                // Other texts stay as they are: those of the largest amounts are more precise than the number.
                if rounded != quantity {
                    *amount = rounded.canonical().into();
                }
            }
        }
    }
}
