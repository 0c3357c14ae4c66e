//! The defaults of each type. A rule sees an object whose empty fields are absent, and the outer object's rule has
//! already run.

use serde_json::{Map, Value};

use crate::core::pod;

mod extensions;
mod networking;
mod storage;
mod workloads;

/// Sets the defaults of an object of one type.
pub(crate) type Rule = fn(&mut Map<String, Value>);

/// The rule of a type by its name in the table of shapes.
pub(super) fn of_type(name: &str) -> Option<Rule> {
    pod::defaults::of_type(name)
        .or_else(|| workloads::of_type(name))
        .or_else(|| networking::of_type(name))
        .or_else(|| storage::of_type(name))
        .or_else(|| extensions::of_type(name))
}
