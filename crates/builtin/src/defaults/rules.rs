//! Dispatches to the defaults of each type. A rule is called after the rule of the outer object, and on an object without
//! empty fields.

use serde_json::{Map, Value};

use crate::core::pod;

mod extensions;
mod networking;
mod storage;
mod workloads;

/// Sets the defaults of an object of one type.
pub(crate) type Rule = fn(&mut Map<String, Value>);

/// The rule of a type, by its name in `shapes.txt`.
pub(super) fn of_type(name: &str) -> Option<Rule> {
    pod::defaults::of_type(name)
        .or_else(|| workloads::of_type(name))
        .or_else(|| networking::of_type(name))
        .or_else(|| storage::of_type(name))
        .or_else(|| extensions::of_type(name))
}
