//! Maps and objects.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Text, Value, json};
use crate::error::Error;
use crate::schema::{Schema, escape, unescape};

type Object = serde_json::Map<String, Json>;

/// A map or an object.
#[derive(Clone)]
pub enum Map<'v> {
    Entries(Arc<BTreeMap<Key<'v>, Value<'v>>>),
    Json(&'v Object),
    /// With the schema of the object.
    Typed(&'v Object, &'v Schema),
    /// Values that are computed when they are read.
    Lookup(&'v dyn Lookup),
}

/// The fields of an object whose values are computed when they are read, such as `variables` of an admission policy.
pub trait Lookup: Sync {
    /// The value of a field; `None` if there is no such field.
    fn find(&self, field: &str) -> Option<Result<Value<'_>, Error>>;
}

impl fmt::Debug for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries(entries) => f.debug_map().entries(entries.iter()).finish(),
            Self::Json(object) | Self::Typed(object, _) => object.fmt(f),
            Self::Lookup(_) => f.write_str("Lookup"),
        }
    }
}

/// A key of a map. Keys of different types are different, even if they are equal as numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'v> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// The bits of a double.
    Double(u64),
    String(Text<'v>),
}

impl<'v> Key<'v> {
    pub(crate) fn new(value: &Value<'v>) -> Option<Self> {
        Some(match value {
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Int(number) => Self::Int(*number),
            Value::Uint(number) => Self::Uint(*number),
            Value::Double(number) => Self::Double(number.to_bits()),
            Value::String(text) => Self::String(text.clone()),
            _ => return None,
        })
    }

    pub(crate) fn to_value(&self) -> Value<'v> {
        match self {
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Int(number) => Value::Int(*number),
            Self::Uint(number) => Value::Uint(*number),
            Self::Double(bits) => Value::Double(f64::from_bits(*bits)),
            Self::String(text) => Value::String(text.clone()),
        }
    }

    /// The keys that are equal as numbers.
    fn equivalents(&self) -> Vec<Self> {
        let mut keys = Vec::new();
        let (mut int, mut uint) = (None, None);
        match self {
            Self::Double(bits) => {
                let number = f64::from_bits(*bits);
                int = crate::functions::convert::lossless_int(number);
                uint = crate::functions::convert::lossless_uint(number);
            }
            Self::Int(number) => uint = u64::try_from(*number).ok(),
            Self::Uint(number) => int = i64::try_from(*number).ok(),
            Self::Bool(_) | Self::String(_) => {}
        }
        keys.extend(int.map(Self::Int));
        keys.extend(uint.map(Self::Uint));
        keys
    }
}

impl<'v> Map<'v> {
    pub fn len(&self) -> usize {
        match self {
            Self::Entries(entries) => entries.len(),
            Self::Json(object) | Self::Typed(object, _) => object.len(),
            Self::Lookup(_) => 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Self::Typed(..))
    }

    /// The value of a key.
    pub(crate) fn find(&self, key: &Value<'v>) -> Option<Result<Value<'v>, Error>> {
        match (self, key) {
            (Self::Entries(entries), key) => {
                let key = Key::new(key)?;
                let found = entries.get(&key).cloned();
                let found = found.or_else(|| {
                    let mut keys = key.equivalents().into_iter();
                    keys.find_map(|key| entries.get(&key).cloned())
                });
                found.map(Ok)
            }
            (_, Value::String(text)) => self.find_text(text.as_str()),
            (Self::Typed(..), _) => Some(Err(Error::NoSuchOverload)),
            (Self::Json(_) | Self::Lookup(_), _) => None,
        }
    }

    /// The value of a field or of a string key.
    pub(crate) fn find_text(&self, key: &str) -> Option<Result<Value<'v>, Error>> {
        match self {
            Self::Entries(entries) => {
                // The key is not owned by the map, so it cannot be looked up as one.
                let key = Key::String(Text::Shared(key.into()));
                entries.get(&key).cloned().map(Ok)
            }
            Self::Json(object) => object.get(key).map(|value| Ok(json::untyped(value))),
            Self::Typed(object, schema) => typed_field(object, schema, key),
            Self::Lookup(lookup) => lookup.find(key),
        }
    }

    /// Adds an entry, which must be new.
    pub(crate) fn insert(self, key: &Value<'v>, value: Value<'v>) -> Result<Self, Error> {
        let mut entries = match self {
            Self::Entries(entries) => entries,
            other => {
                let mut entries = BTreeMap::new();
                for key in other.keys() {
                    if let (Some(value), Some(key)) = (other.find(&key), Key::new(&key)) {
                        entries.insert(key, value?);
                    }
                }
                Arc::new(entries)
            }
        };
        let Some(new) = Key::new(key) else {
            return Err(Error::function(format!(
                "unsupported key type: {}",
                key.type_name()
            )));
        };
        if entries.contains_key(&new) {
            return Err(Error::function(format!(
                "insert failed: key {key} already exists"
            )));
        }
        Arc::make_mut(&mut entries).insert(new, value);
        Ok(Self::Entries(entries))
    }

    /// The keys. Objects only have those that are declared.
    pub(crate) fn keys(&self) -> Vec<Value<'v>> {
        match self {
            Self::Entries(entries) => entries.keys().map(Key::to_value).collect(),
            Self::Json(object) => object.keys().map(|key| key.as_str().into()).collect(),
            Self::Typed(object, schema) => {
                let declared = object.keys().filter(|key| schema.field(key).is_some());
                declared
                    .map(|key| match escape(key) {
                        Some(escaped) if schema.has_properties() && escaped != *key => {
                            Value::string(escaped)
                        }
                        _ => key.as_str().into(),
                    })
                    .collect()
            }
            Self::Lookup(_) => Vec::new(),
        }
    }
}

fn typed_field<'v>(
    object: &'v Object,
    schema: &'v Schema,
    key: &str,
) -> Option<Result<Value<'v>, Error>> {
    let has_properties = schema.has_properties();
    let value = if has_properties {
        object.get(&*unescape(key)?)
    } else {
        object.get(key)
    }?;
    if has_properties && value.is_null() {
        return None;
    }
    let name = if has_properties {
        unescape(key)?
    } else {
        key.into()
    };
    let field = schema.field(&name)?;
    Some(json::typed(value, field))
}
