//! Values. Data that callers pass in are borrowed and converted only when an expression reads them.

mod authorization;
pub(crate) mod compare;
pub(crate) mod display;
mod json;
pub(crate) mod list;
pub(crate) mod map;
mod object;
pub(crate) mod opaque;
mod to_json;

use std::sync::Arc;

use outrigger_gostd::time::Time;
use serde_json::Value as Json;

use crate::error::Error;
use crate::schema::Schema;
use crate::types::Type;
pub use authorization::{
    Authorization, Authorizer, AuthorizerValue, Check, Decision, ResourceCheck, ServiceAccount,
};
pub use list::List;
pub use map::{Lookup, Map};
pub use object::Object;
pub use opaque::Opaque;

/// A value of an expression.
#[derive(Debug, Clone)]
pub enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'v>),
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    Timestamp(Arc<Time>),
    List(List<'v>),
    Map(Map<'v>),
    /// An object that an expression creates.
    Object(Arc<Object<'v>>),
    Type(Type),
    Optional(Option<Arc<Self>>),
    Opaque(Opaque),
    /// Data without a schema, because of `x-kubernetes-preserve-unknown-fields`. They can only be compared.
    Preserved(&'v Json),
}

/// A string.
#[derive(Debug, Clone)]
pub enum Text<'v> {
    Borrowed(&'v str),
    Shared(Arc<str>),
}

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<'v> Value<'v> {
    /// A string that the value owns.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    /// A list of values.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::Items(Arc::new(items)))
    }

    /// A list of strings.
    pub(crate) fn strings<'s>(texts: impl IntoIterator<Item = &'s str>) -> Self {
        Self::list(texts.into_iter().map(Value::string).collect())
    }

    pub fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(Arc::new))
    }

    /// Data without a schema: the type of each value is that of its JSON.
    pub fn from_json(json: &'v Json) -> Self {
        json::untyped(json)
    }

    /// Data with a schema. Fails if they do not conform to it.
    pub fn from_json_with_schema(json: &'v Json, schema: &'v Schema) -> Result<Self, Error> {
        json::typed(json, schema)
    }

    pub(crate) fn type_(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::Duration(_) => Type::Duration,
            Self::Timestamp(_) => Type::Timestamp,
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Object(object) => Type::Struct(object.type_.clone()),
            Self::Type(_) => Type::type_of(Type::Dyn),
            Self::Optional(_) => Type::optional(Type::Dyn),
            Self::Opaque(opaque) => opaque.type_(),
            Self::Preserved(_) => Type::object("unknown"),
        }
    }

    /// The name of the type, without parameters.
    pub(crate) fn type_name(&self) -> String {
        self.type_().runtime_name().to_owned()
    }

    /// The name of the type in Go, which some messages show.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::String(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::Duration(_) => "types.Duration",
            Self::Timestamp(_) => "types.Timestamp",
            Self::List(_) => "*types.baseList",
            Self::Map(_) => "*types.baseMap",
            Self::Object(_) => "*dynamic.ObjectVal",
            Self::Type(_) => "*types.Type",
            Self::Optional(_) => "*types.Optional",
            Self::Opaque(_) | Self::Preserved(_) => "cel.Value",
        }
    }

    /// The number of code points, bytes or elements; 1 for what has no size.
    pub(crate) fn size(&self) -> u64 {
        let size = match self {
            Self::String(text) => text.as_str().chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Opaque(opaque) => opaque.size(),
            _ => 1,
        };
        u64::try_from(size).unwrap_or(u64::MAX)
    }

    /// Whether it is the zero value of its type.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(flag) => !flag,
            Self::Int(number) => *number == 0,
            Self::Uint(number) => *number == 0,
            Self::Double(number) => *number == 0.0,
            Self::String(text) => text.as_str().is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Duration(nanos) => *nanos == 0,
            Self::Timestamp(time) => time.is_zero(),
            Self::List(list) => list.is_empty() && !list.is_typed(),
            Self::Map(map) => map.is_empty() && !map.is_typed(),
            Self::Object(object) => object.fields.is_empty(),
            Self::Type(_) | Self::Optional(_) | Self::Opaque(_) | Self::Preserved(_) => false,
        }
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Self::String(Text::Borrowed(text))
    }
}
