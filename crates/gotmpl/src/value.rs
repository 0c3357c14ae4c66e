//! Go's values as a template sees them: the kinds that `typeOf`, `kindOf`, `eq` and `printf` can tell apart.
//!
//! Values are single-threaded and cheap to clone. Maps are shared and mutable, as in Go: a `set` through one
//! alias is seen through every other. Lists and strings never change.

pub(crate) mod growth;
mod list;
mod map;
mod teardown;
mod text;

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use crate::function::{CallError, Signature};

pub use list::{Element, List};
pub use map::{Map, MapType};
pub use text::Str;

/// One Go value.
#[derive(Clone, Default)]
pub enum Value {
    /// The nil interface, and the invalid value that a missing map key yields.
    #[default]
    Nil,
    Bool(bool),
    /// Go `int`: literals in templates, `len`, `int`.
    Int(i64),
    /// Go `int64`: `--set`, `add`, `int64`.
    Int64(i64),
    /// Go `uint8`: a byte of a string, by `index`.
    Uint8(u8),
    /// Go `uint64`: the parts of a semantic version.
    Uint64(u64),
    /// Go `float64`: every number that came from YAML or JSON.
    Float(f64),
    Str(Str),
    List(List),
    Map(Map),
    /// A struct, a pointer or a named type with methods.
    Object(Rc<dyn Object>),
}

/// Go's `reflect.Kind`, as far as values here have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Invalid,
    Bool,
    Int,
    Int64,
    Uint8,
    Uint64,
    Float64,
    String,
    Slice,
    Map,
    Struct,
    Ptr,
}

impl Kind {
    /// The name that `kindOf` prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint64 => "uint64",
            Self::Float64 => "float64",
            Self::String => "string",
            Self::Slice => "slice",
            Self::Map => "map",
            Self::Struct => "struct",
            Self::Ptr => "ptr",
        }
    }
}

/// What `range`, `len` and `index` find inside an [`Object`].
#[derive(Debug)]
pub enum Contents {
    /// Not a collection.
    None,
    List(List),
    Map(Map),
}

/// A value with named fields or methods: `.Chart`, `.Capabilities`, `.Files`, a semver version, a certificate.
pub trait Object: Any {
    /// Go's `%T`, such as `*chartutil.Capabilities`.
    fn type_name(&self) -> &str;

    fn kind(&self) -> Kind;

    /// A field, or a method that takes no arguments and is called by naming it.
    fn field(&self, name: &str) -> Option<Value>;

    /// Whether `name` is a method that takes arguments (or may take none).
    fn has_method(&self, _name: &str) -> bool {
        false
    }

    /// The parameters of a method, if they are to be checked before [`Self::call_method`].
    fn signature(&self, _name: &str) -> Option<Signature> {
        None
    }

    fn call_method(&self, _name: &str, _args: &[Value]) -> Result<Value, CallError> {
        Err(CallError::NoSuchMethod)
    }

    fn contents(&self) -> Contents {
        Contents::None
    }

    /// The value under a named basic type, such as the nanoseconds of a `time.Duration`.
    fn scalar(&self) -> Option<Value> {
        None
    }

    /// The fields of the Go struct, unexported ones too, which verbs such as `%d` print one by one.
    fn struct_fields(&self) -> Option<Vec<Value>> {
        None
    }

    /// The plain value that Go's JSON encoder would write for it.
    fn to_plain(&self) -> Value;

    /// What `%v` prints.
    fn display(&self) -> String;

    /// What `{{ . }}` prints where that is not what `%v` prints: a `String` method that only the pointer has.
    fn printed(&self) -> Option<String> {
        None
    }

    /// Whether `reflect.DeepEqual` finds the same value in another object of the same type.
    fn deep_equals(&self, other: &dyn Object) -> bool {
        self.display() == other.display()
    }

    fn as_any(&self) -> &dyn Any;
}

impl Value {
    pub fn str(text: impl Into<Str>) -> Self {
        Self::Str(text.into())
    }

    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::new(Element::Any, items))
    }

    /// A list to which the items were appended one by one, as decoders do.
    pub fn grown_list(items: Vec<Self>) -> Self {
        Self::List(List::grown(Element::Any, items))
    }

    pub fn strings<S: Into<Str>>(items: impl IntoIterator<Item = S>) -> Self {
        let items = items.into_iter().map(|s| Self::Str(s.into())).collect();
        Self::List(List::new(Element::String, items))
    }

    pub fn map(entries: Vec<(Str, Self)>) -> Self {
        Self::Map(Map::from_entries(MapType::Any, entries))
    }

    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    pub fn kind(&self) -> Kind {
        match self {
            Self::Nil => Kind::Invalid,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Int64(_) => Kind::Int64,
            Self::Uint8(_) => Kind::Uint8,
            Self::Uint64(_) => Kind::Uint64,
            Self::Float(_) => Kind::Float64,
            Self::Str(_) => Kind::String,
            Self::List(_) => Kind::Slice,
            Self::Map(_) => Kind::Map,
            Self::Object(object) => object.kind(),
        }
    }

    /// Go's `%T`.
    pub fn type_name(&self) -> String {
        match self {
            Self::Nil => "<nil>".into(),
            Self::Bool(_) => "bool".into(),
            Self::Int(_) => "int".into(),
            Self::Int64(_) => "int64".into(),
            Self::Uint8(_) => "uint8".into(),
            Self::Uint64(_) => "uint64".into(),
            Self::Float(_) => "float64".into(),
            Self::Str(_) => "string".into(),
            Self::List(list) => list.element().list_type_name().into(),
            Self::Map(map) => map.ty().name().into(),
            Self::Object(object) => object.type_name().into(),
        }
    }

    /// Go template truth: false, 0, "", nil and empty collections are false; a struct is always true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(b) => *b,
            Self::Int(n) | Self::Int64(n) => *n != 0,
            Self::Uint8(n) => *n != 0,
            Self::Uint64(n) => *n != 0,
            Self::Float(x) => *x != 0.0,
            Self::Str(s) => !s.is_empty(),
            Self::List(list) => !list.items().is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Object(object) => match object.contents() {
                Contents::None => object.scalar().is_none_or(|scalar| scalar.is_true()),
                Contents::List(list) => !list.items().is_empty(),
                Contents::Map(map) => !map.is_empty(),
            },
        }
    }

    /// Whether it may hold other values.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_) | Self::Object(_))
    }

    /// A copy that shares no map with the original, down to [`DEEPEST_COPY`] levels.
    #[must_use]
    pub fn deep_copy(&self) -> Self {
        self.copy_levels(DEEPEST_COPY)
    }

    fn copy_levels(&self, levels: u32) -> Self {
        let Some(below) = levels.checked_sub(1) else {
            return self.clone();
        };
        match self {
            Self::Map(map) if map.is_nil() => self.clone(),
            Self::Map(map) => {
                let entries = map.with_entries(|entries| {
                    let copy = |(k, v): &(Str, Self)| (k.clone(), v.copy_levels(below));
                    entries.iter().map(copy).collect()
                });
                let copy = Map::from_entries(MapType::Any, entries);
                Self::Map(copy.retyped(map.ty()))
            }
            Self::List(list) if list.is_nil() => self.clone(),
            Self::List(list) => {
                let copy = |item: &Self| item.copy_levels(below);
                let items = list.items().iter().map(copy).collect();
                Self::List(List::with_room(list.element(), items, list.capacity()))
            }
            other => other.clone(),
        }
    }
}

/// A map may hold itself; a copy must end.
const DEEPEST_COPY: u32 = 200;

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(n) => write!(f, "int({n})"),
            Self::Int64(n) => write!(f, "int64({n})"),
            Self::Uint8(n) => write!(f, "uint8({n})"),
            Self::Uint64(n) => write!(f, "uint64({n})"),
            Self::Float(x) => write!(f, "{x:?}"),
            Self::Str(s) => s.fmt(f),
            Self::List(list) => list.fmt(f),
            Self::Map(map) => map.fmt(f),
            Self::Object(object) => f.write_str(object.type_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_24_bytes() {
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn a_copy_of_a_map_that_holds_itself_ends() {
        let map = Map::default();
        map.set("self".into(), Value::Map(map.clone()));
        let copy = Value::Map(map.clone()).deep_copy();
        assert!(matches!(copy, Value::Map(copy) if !copy.ptr_eq(&map)));
    }
}
