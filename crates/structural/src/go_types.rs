//! The Go types of built-in objects, and what encoding/json does with them.
//!
//! A real server decodes a request into Go structs and encodes them again. Unknown fields, nulls and empty values are
//! dropped, quantities and times become canonical, and fields without `omitempty` are added. The table `types.txt`
//! lists the structs; [`decode`] and [`add_zero_values`] are the two halves of that round trip, [`normalize`] is both.

use outrigger_apimachinery::GroupVersion;
use serde_json::{Map, Value};

mod decode;
mod table;
mod time;
mod zero;

pub use decode::{DecodeError, decode};
pub use zero::{Defaulter, NoDefaults, add_zero_values};

/// The position of a struct in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructId(usize);

impl StructId {
    /// Counts from zero in the order of [`structs`].
    pub fn index(self) -> usize {
        self.0
    }

    pub fn get(self) -> &'static Struct {
        &table::table().structs[self.0]
    }
}

/// A Go struct; its fields are sorted by name and include those of embedded structs.
#[derive(Debug)]
pub struct Struct {
    /// The last two elements of the package path and the name: `core/v1.Pod`.
    pub name: &'static str,
    pub fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub type_: Type,
    /// The names of the embedded structs that the field belongs to, each with a dot after it.
    pub embedding: String,
    pub is_pointer: bool,
    pub omit_empty: bool,
    pub omit_zero: bool,
}

/// The type of a field, an item or a map value. Whether a field is a pointer is known to the [`Field`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    pub form: Form,
    /// The name of a defined type that is not a struct: `v1.ResourceList`. Error messages contain it.
    name: &'static str,
}

/// What the JSON values of a type look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    String,
    Int32,
    Int64,
    Bool,
    Float64,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Raw JSON: `RawExtension`, `FieldsV1`, `JSON`.
    Raw,
    List(Box<Type>),
    Map(Box<Type>),
    Struct(StructId),
    /// A struct, or a bool, a list or strings instead: `JSONSchemaPropsOrBool` and the like.
    StructOr(StructId),
}

impl Struct {
    pub fn field(&self, name: &str) -> Option<&Field> {
        let found = self.fields.binary_search_by(|field| field.name.cmp(name));
        self.fields.get(found.ok()?)
    }

    /// The name without its package, as in `Go struct field Container.spec.containers.image`.
    fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

impl Type {
    /// The type as Go prints it.
    fn go_name(&self) -> String {
        if !self.name.is_empty() {
            return self.name.to_owned();
        }
        match &self.form {
            Form::String | Form::Time | Form::MicroTime | Form::Quantity => "string".to_owned(),
            Form::Int32 | Form::IntOrString => "int32".to_owned(),
            Form::Int64 => "int64".to_owned(),
            Form::Bool => "bool".to_owned(),
            Form::Float64 => "float64".to_owned(),
            Form::Bytes => "[]uint8".to_owned(),
            Form::Raw => "interface {}".to_owned(),
            Form::List(item) => format!("[]{}", item.go_name()),
            Form::Map(item) => format!("map[string]{}", item.go_name()),
            Form::Struct(id) | Form::StructOr(id) => {
                let name = id.get().name;
                name.rsplit('/').next().unwrap_or(name).to_owned()
            }
        }
    }

    /// Whether it is `ResourceList`: quantities by the name of the resource.
    pub fn is_resource_list(&self) -> bool {
        self.name == "v1.ResourceList"
    }
}

/// All structs, in the order of their ids.
pub fn structs() -> &'static [Struct] {
    &table::table().structs
}

/// The struct of a built-in kind.
pub fn of_kind(version: GroupVersion<'_>, kind: &str) -> Option<StructId> {
    let group = match version.group.split('.').next() {
        None | Some("") => "core",
        Some(group) => group,
    };
    table::table().find(group, version.version, kind)
}

/// The struct of an OpenAPI definition: `io.k8s.api.core.v1.Pod`.
pub fn of_definition(name: &str) -> Option<StructId> {
    let mut parts = name.rsplit('.');
    let (kind, version, group) = (parts.next()?, parts.next()?, parts.next()?);
    table::table().find(group, version, kind)
}

/// The struct of `metadata`.
pub fn object_meta() -> Option<StructId> {
    table::table().find("meta", "v1", "ObjectMeta")
}

/// A value of a struct as encoding/json writes it after reading it. A value of the wrong type is left alone.
pub fn normalize(id: StructId, value: &mut Value) {
    decode::decode_leniently(id, value);
    if let Value::Object(object) = value {
        add_zero_values(id, object, &NoDefaults);
    }
}

/// The zero value of a struct as encoding/json writes it.
pub fn zero_value(id: StructId) -> Value {
    let mut object = Map::new();
    add_zero_values(id, &mut object, &NoDefaults);
    Value::Object(object)
}

#[cfg(test)]
mod tests;
