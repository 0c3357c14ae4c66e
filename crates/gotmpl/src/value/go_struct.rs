//! Go structs as `encoding/json`, the YAML and TOML libraries and `fmt` see them.

use super::{Map, MapType, Object, Str, Value};

/// A field of a Go struct.
#[derive(Debug, Clone)]
pub struct StructField {
    pub name: &'static str,
    pub json: Json,
    pub value: Value,
}

/// How `json.Marshal` encodes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Json {
    Key(&'static str),
    /// With the option `omitempty`.
    OmitEmpty(&'static str),
    /// The fields of an embedded struct are encoded as those of the outer struct.
    Embedded,
    /// Encoders ignore an unexported field; `fmt` prints it.
    Unexported,
}

impl StructField {
    pub fn new(name: &'static str, json: Json, value: Value) -> Self {
        Self { name, json, value }
    }
}

/// The fields of a struct that has no methods to encode or format itself.
pub(crate) fn fields_of(value: &Value) -> Option<Vec<StructField>> {
    match value {
        Value::Object(object) if !object.formats_itself() => object.struct_fields(),
        _ => None,
    }
}

/// The entries that `json.Marshal` encodes, in the order of the fields.
pub(crate) fn json_entries(fields: Vec<StructField>) -> Vec<(Str, Value)> {
    let mut entries = Vec::new();
    for StructField { json, value, .. } in fields {
        match json {
            Json::OmitEmpty(_) if !value.is_true() => {}
            Json::Key(key) | Json::OmitEmpty(key) => entries.push((Str::from(key), value)),
            Json::Embedded => {
                entries.extend(json_entries(fields_of(&value).unwrap_or_default()));
            }
            Json::Unexported => {}
        }
    }
    entries
}

/// The entries that gopkg.in/yaml.v3 encodes: names in lower case, embedded structs as fields.
pub(crate) fn yaml_entries(fields: Vec<StructField>) -> Vec<(Str, Value)> {
    let exported = fields.into_iter().filter(StructField::is_exported);
    exported
        .map(|field| (Str::from(field.name.to_lowercase()), field.value))
        .collect()
}

/// The entries that github.com/BurntSushi/toml encodes: all exported fields by their Go names.
pub(crate) fn toml_entries(fields: Vec<StructField>) -> Vec<(Str, Value)> {
    let mut entries = Vec::new();
    for field in fields.into_iter().filter(StructField::is_exported) {
        if field.json == Json::Embedded {
            entries.extend(toml_entries(fields_of(&field.value).unwrap_or_default()));
        } else {
            entries.push((Str::from(field.name), field.value));
        }
    }
    entries
}

impl StructField {
    fn is_exported(&self) -> bool {
        self.json != Json::Unexported
    }
}

/// An exported field by its Go name; those of embedded structs are promoted.
pub(super) fn field(object: &(impl Object + ?Sized), name: &str) -> Option<Value> {
    let fields = object.struct_fields()?;
    let mut exported = fields.iter().filter(|field| field.is_exported());
    if let Some(field) = exported.find(|field| field.name == name) {
        return Some(field.value.clone());
    }
    fields.into_iter().find_map(|field| match field {
        StructField {
            json: Json::Embedded,
            value: Value::Object(embedded),
            ..
        } => embedded.field(name),
        _ => None,
    })
}

/// The map that `json.Marshal` and decoding the result return.
pub(super) fn to_plain(object: &(impl Object + ?Sized)) -> Value {
    let entries = json_entries(object.struct_fields().unwrap_or_default());
    Value::Map(Map::from_entries(MapType::Any, entries))
}
