//! Go values, with the types that `typeOf`, `kindOf`, `eq` and `printf` distinguish.
//!
//! Values are single-threaded and cheap to clone. Maps are shared and mutable, as in Go. Lists and strings are immutable.

mod cycles;
mod entries;
pub(crate) mod go_struct;
pub(crate) mod growth;
mod list;
mod map;
pub mod memory;
mod teardown;
mod text;

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use crate::function::{CallError, Signature};

pub use cycles::free_cycles;
pub use go_struct::{Json, StructField};
pub use list::{Element, List};
pub use map::{Map, MapType};
pub use text::Str;

/// A Go value.
#[derive(Clone, Default)]
pub enum Value {
    /// The nil interface, and the zero `reflect.Value` of a missing map key.
    #[default]
    Nil,
    Bool(bool),
    /// `int`: constants in templates, `len`, `int`.
    Int(i64),
    /// `int64`: `--set`, `add`, `int64`.
    Int64(i64),
    /// `uint8`: a byte of a string, from `index`.
    Uint8(u8),
    /// `uint64`: the segments of a semantic version.
    Uint64(u64),
    /// `float64`: all numbers from YAML and JSON.
    Float(f64),
    Str(Str),
    List(List),
    Map(Map),
    /// A struct, a pointer, or a named type with methods.
    Object(Rc<dyn Object>),
}

/// `reflect.Kind`
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

/// The collection that an [`Object`] is, for `range`, `len` and `index`.
#[derive(Debug)]
pub enum Contents {
    /// Not a collection.
    None,
    List(List),
    Map(Map),
}

/// A value with named fields or methods: `.Chart`, `.Capabilities`, `.Files`, a semver version, a certificate.
pub trait Object: Any {
    /// The `%T` form, such as `*chartutil.Capabilities`.
    fn type_name(&self) -> &str;

    fn kind(&self) -> Kind;

    /// A field, or the result of a method without parameters.
    fn field(&self, name: &str) -> Option<Value> {
        go_struct::field(self, name)
    }

    /// Whether `name` is a method with parameters.
    fn has_method(&self, _name: &str) -> bool {
        false
    }

    /// The parameters of a method, if the executor must check the arguments.
    fn signature(&self, _name: &str) -> Option<Signature> {
        None
    }

    fn call_method(&self, _name: &str, _args: &[Value]) -> Result<Value, CallError> {
        Err(CallError::NoSuchMethod)
    }

    fn contents(&self) -> Contents {
        Contents::None
    }

    /// The value of a named basic type, such as the nanoseconds of a `time.Duration`.
    fn scalar(&self) -> Option<Value> {
        None
    }

    /// The fields of the Go struct in their order, including unexported ones.
    fn struct_fields(&self) -> Option<Vec<StructField>> {
        None
    }

    /// Whether a struct has the methods `String` and `MarshalJSON`, which replace its fields.
    fn formats_itself(&self) -> bool {
        false
    }

    /// The value that `json.Marshal` encodes for it. The keys of a struct are sorted.
    fn to_plain(&self) -> Value {
        go_struct::to_plain(self)
    }

    /// The `%v` form.
    fn display(&self) -> String {
        let fields = self.struct_fields().unwrap_or_default();
        crate::fmt::display_struct(self.type_name(), &fields)
    }

    /// The output of `{{ . }}` if it differs from `%v`: the `String` method of the pointer.
    fn printed(&self) -> Option<String> {
        None
    }

    /// `reflect.DeepEqual` with an object of the same type.
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

    /// A list to which the items were appended one by one, as by decoders.
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

    /// The `%T` form.
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

    /// `template.IsTrue`: false, 0, "", nil and empty collections are false; structs are true.
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

    /// Whether it may contain other values.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_) | Self::Object(_))
    }

    /// A copy that shares no maps with the original, down to [`MAX_COPY_DEPTH`] levels.
    #[must_use]
    pub fn deep_copy(&self) -> Self {
        self.copy_levels(MAX_COPY_DEPTH)
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
                Self::List(List::with_capacity(list.element(), items, list.capacity()))
            }
            other => other.clone(),
        }
    }
}

/// Maps may contain themselves, so the depth of copies is limited.
const MAX_COPY_DEPTH: u32 = 200;

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
    fn copying_a_map_that_contains_itself_terminates() {
        let map = Map::default();
        map.set("self".into(), Value::Map(map.clone()));
        let copy = Value::Map(map.clone()).deep_copy();
        assert!(matches!(copy, Value::Map(copy) if !copy.ptr_eq(&map)));
    }
}
