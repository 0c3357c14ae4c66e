//! Go's values as a template sees them: the kinds that `typeOf`, `kindOf`, `eq` and `printf` can tell apart.
//!
//! Values are single-threaded and cheap to clone. Maps are shared and mutable, as in Go: a `set` through one
//! alias is seen through every other. Lists and strings never change.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::function::CallError;

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

/// An immutable byte string. Go strings need not be UTF-8: `trunc` may cut one in the middle of a character.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str(Rc<[u8]>);

impl Str {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, with U+FFFD where the bytes are not UTF-8.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&[u8]> for Str {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self(text.into_bytes().into())
    }
}

impl From<Vec<u8>> for Str {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

impl std::borrow::Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// What a slice is declared to hold; visible through `typeOf`, `deepEqual`, `has`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// `[]interface {}`
    Any,
    /// `[]string`
    String,
    /// `[]int`
    Int,
    /// `[]uint8`
    Byte,
    /// `[]map[string]interface {}`
    Map,
    /// `[][]interface {}`
    List,
}

/// An immutable slice.
#[derive(Clone)]
pub struct List(Rc<ListData>);

struct ListData {
    element: Element,
    /// `None` is Go's nil slice: empty everywhere, but `null` in JSON and YAML.
    items: Option<Vec<Value>>,
}

impl List {
    pub fn new(element: Element, items: Vec<Value>) -> Self {
        Self(Rc::new(ListData {
            element,
            items: Some(items),
        }))
    }

    /// Go's nil slice, which `rest` of an empty list returns.
    pub fn nil(element: Element) -> Self {
        Self(Rc::new(ListData {
            element,
            items: None,
        }))
    }

    pub fn is_nil(&self) -> bool {
        self.0.items.is_none()
    }

    pub fn element(&self) -> Element {
        self.0.element
    }

    pub fn items(&self) -> &[Value] {
        self.0.items.as_deref().unwrap_or_default()
    }

    pub fn ptr_eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// What a map is declared to be; visible through `typeOf` and to functions that want a plain map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapType {
    /// `map[string]interface {}`
    Any,
    /// `map[string]string`
    Strings,
    /// A named map type over `map[string]interface {}`, such as `chartutil.Values`.
    Named(&'static str),
}

/// A shared, mutable map with string keys, kept in byte order of its keys.
#[derive(Clone)]
pub struct Map(Rc<MapData>);

struct MapData {
    ty: MapType,
    /// Go's nil map: empty and read-only; `null` in JSON and YAML.
    nil: bool,
    entries: RefCell<Vec<(Str, Value)>>,
    /// Another map whose entries these are, seen under this type.
    view_of: Option<Map>,
}

impl Default for Map {
    fn default() -> Self {
        Self::new(MapType::Any)
    }
}

impl Map {
    pub fn new(ty: MapType) -> Self {
        Self::from_entries(ty, Vec::new())
    }

    /// Takes entries in any order; of two with one key the last stays.
    pub fn from_entries(ty: MapType, mut entries: Vec<(Str, Value)>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(later, earlier);
                }
                same
            });
        }
        Self(Rc::new(MapData {
            ty,
            nil: false,
            entries: RefCell::new(entries),
            view_of: None,
        }))
    }

    /// Go's nil map, which `fromJson "null"` returns. Whoever writes must ask [`Self::is_nil`] first.
    pub fn nil(ty: MapType) -> Self {
        Self(Rc::new(MapData {
            ty,
            nil: true,
            entries: RefCell::default(),
            view_of: None,
        }))
    }

    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    pub fn ty(&self) -> MapType {
        self.0.ty
    }

    /// The same map under another declared type: a write through one is seen through the other.
    #[must_use]
    pub fn retyped(&self, ty: MapType) -> Self {
        if self.ty() == ty {
            return self.clone();
        }
        let origin = self.0.view_of.as_ref().unwrap_or(self);
        if origin.ty() == ty {
            return origin.clone();
        }
        Self(Rc::new(MapData {
            ty,
            nil: self.0.nil,
            entries: RefCell::default(),
            view_of: Some(origin.clone()),
        }))
    }

    fn entries_cell(&self) -> &RefCell<Vec<(Str, Value)>> {
        match &self.0.view_of {
            None => &self.0.entries,
            Some(origin) => &origin.0.entries,
        }
    }

    pub fn len(&self) -> usize {
        self.entries_cell().borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries_cell().borrow().is_empty()
    }

    pub fn get(&self, key: &[u8]) -> Option<Value> {
        let entries = self.entries_cell().borrow();
        let at = entries
            .binary_search_by(|(k, _)| k.as_bytes().cmp(key))
            .ok()?;
        Some(entries[at].1.clone())
    }

    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.entries_cell()
            .borrow()
            .binary_search_by(|(k, _)| k.as_bytes().cmp(key))
            .is_ok()
    }

    pub fn set(&self, key: Str, value: Value) {
        let mut entries = self.entries_cell().borrow_mut();
        match entries.binary_search_by(|(k, _)| k.cmp(&key)) {
            Ok(at) => entries[at].1 = value,
            Err(at) => entries.insert(at, (key, value)),
        }
    }

    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        let mut entries = self.entries_cell().borrow_mut();
        let at = entries
            .binary_search_by(|(k, _)| k.as_bytes().cmp(key))
            .ok()?;
        Some(entries.remove(at).1)
    }

    /// The entries in byte order of their keys, as they are now.
    pub fn entries(&self) -> Vec<(Str, Value)> {
        self.entries_cell().borrow().clone()
    }

    /// Runs `read` on the entries without copying them. `read` must not change this map.
    pub fn with_entries<R>(&self, read: impl FnOnce(&[(Str, Value)]) -> R) -> R {
        read(&self.entries_cell().borrow())
    }

    /// Whether both are the same map, under whatever type.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.entries_cell(), other.entries_cell())
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

    /// The plain value that Go's JSON encoder would write for it.
    fn to_plain(&self) -> Value;

    /// What `%v` prints.
    fn display(&self) -> String;

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
            Self::List(list) => match list.element() {
                Element::Any => "[]interface {}".into(),
                Element::String => "[]string".into(),
                Element::Int => "[]int".into(),
                Element::Byte => "[]uint8".into(),
                Element::Map => "[]map[string]interface {}".into(),
                Element::List => "[][]interface {}".into(),
            },
            Self::Map(map) => match map.ty() {
                MapType::Any => "map[string]interface {}".into(),
                MapType::Strings => "map[string]string".into(),
                MapType::Named(name) => name.into(),
            },
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
                Contents::None => true,
                Contents::List(list) => !list.items().is_empty(),
                Contents::Map(map) => !map.is_empty(),
            },
        }
    }

    /// A copy that shares no map with the original.
    #[must_use]
    pub fn deep_copy(&self) -> Self {
        match self {
            Self::Map(map) => {
                let entries = map.with_entries(|entries| {
                    entries
                        .iter()
                        .map(|(k, v)| (k.clone(), v.deep_copy()))
                        .collect()
                });
                Self::Map(Map::from_entries(map.ty(), entries))
            }
            Self::List(list) => {
                let items = list.items().iter().map(Self::deep_copy).collect();
                Self::List(List::new(list.element(), items))
            }
            other => other.clone(),
        }
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items()).finish()
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_entries(|entries| {
            f.debug_map()
                .entries(entries.iter().map(|(k, v)| (k, v)))
                .finish()
        })
    }
}

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
