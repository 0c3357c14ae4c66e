//! Objects that expressions create, such as `Object.spec{replicas: 1}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Value;

/// An object with a type name. Any field can be set.
#[derive(Debug)]
pub struct Object<'v> {
    pub type_: Arc<str>,
    pub fields: BTreeMap<Arc<str>, Value<'v>>,
}

impl<'v> Object<'v> {
    /// The value of a field. A field that is not set is null, unless its presence is tested.
    pub(crate) fn find(&self, key: &Value<'v>, is_test: bool) -> Option<Value<'v>> {
        let Value::String(name) = key else {
            return None;
        };
        let found = self.fields.get(name.as_str()).cloned();
        found.or((!is_test).then_some(Value::Null))
    }
}
