//! Decodes JSON into a Go struct: unknown fields and nulls are dropped, numbers and times become canonical, and a value
//! of the wrong type is an error in the words of encoding/json.

use std::fmt;

use outrigger_apimachinery::quantity::{self, Quantity};
use outrigger_apimachinery::status::field;
use outrigger_gostd::base64;
use serde_json::{Map, Value};

use super::zero::zero;
use super::{Field, Form, Struct, StructId, Type, time};
use crate::schema::strict::json_type;

const MAX_DEPTH: usize = 100;

/// Why a request body cannot be decoded: the message of Go's decoder, which kube-apiserver returns verbatim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// `json.UnmarshalTypeError` of a field.
    #[error("json: cannot unmarshal {value} into Go struct field {field} of type {go_type}")]
    Mismatch {
        /// The JSON type of the value, followed by the value if it is a number out of range.
        value: String,
        field: String,
        go_type: String,
    },
    /// `json.UnmarshalTypeError` of a number that is no float64.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    NumberOutOfRange(String),
    #[error("{0}")]
    Invalid(String),
}

impl DecodeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl From<field::Error> for DecodeError {
    fn from(error: field::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Decodes a value of a struct in place. Returns the paths of the unknown fields, which are dropped.
///
/// # Errors
/// A value has the wrong type.
pub fn decode(id: StructId, value: &mut Value) -> Result<Vec<String>, DecodeError> {
    let mut decoder = Decoder {
        unknown: Vec::new(),
        is_lenient: false,
    };
    decoder.root(id, value)?;
    Ok(decoder.unknown)
}

/// Does the same, but leaves values of the wrong type alone.
pub(super) fn decode_leniently(id: StructId, value: &mut Value) {
    let mut decoder = Decoder {
        unknown: Vec::new(),
        is_lenient: true,
    };
    let _ = decoder.root(id, value);
}

/// The path of a value, formatted only for a message.
struct Path<'a> {
    parent: Option<&'a Self>,
    element: Element<'a>,
    /// The innermost struct.
    owner: Option<&'static Struct>,
    depth: usize,
}

enum Element<'a> {
    Root,
    Field { embedding: &'a str, name: &'a str },
    Index(usize),
    Key(&'a str),
}

/// The path in messages about unknown fields: `spec.containers[0].image`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        let is_first = self.depth <= 1;
        match self.element {
            Element::Root => Ok(()),
            Element::Index(index) => write!(f, "[{index}]"),
            Element::Field { name, .. } | Element::Key(name) if is_first => f.write_str(name),
            Element::Field { name, .. } | Element::Key(name) => write!(f, ".{name}"),
        }
    }
}

impl<'a> Path<'a> {
    const ROOT: Path<'static> = Path {
        parent: None,
        element: Element::Root,
        owner: None,
        depth: 0,
    };

    fn child(&'a self, element: Element<'a>) -> Self {
        Self {
            parent: Some(self),
            element,
            owner: self.owner,
            depth: self.depth + 1,
        }
    }

    /// The path in messages about types: without indexes and keys, but with the names of embedded structs.
    fn go_fields(&self) -> String {
        let mut path = self.parent.map_or_else(String::new, Path::go_fields);
        if let Element::Field { embedding, name } = self.element {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(embedding);
            path.push_str(name);
        }
        path
    }

    fn mismatch(&self, value: &str, type_: &Type) -> DecodeError {
        let (value, go_type) = (value.to_owned(), type_.go_name());
        match self.owner {
            None => DecodeError::Invalid(format!(
                "json: cannot unmarshal {value} into Go value of type {go_type}"
            )),
            Some(owner) => DecodeError::Mismatch {
                value,
                field: format!("{}.{}", owner.short_name(), self.go_fields()),
                go_type,
            },
        }
    }
}

struct Decoder {
    unknown: Vec<String>,
    is_lenient: bool,
}

impl Decoder {
    fn root(&mut self, id: StructId, value: &mut Value) -> Result<(), DecodeError> {
        let type_ = Type {
            form: Form::Struct(id),
            name: "",
        };
        self.value(&type_, value, &Path::ROOT)
    }

    fn object(
        &mut self,
        id: StructId,
        object: &mut Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<(), DecodeError> {
        let mut result = Ok(());
        object.retain(|name, value| {
            if result.is_err() {
                return true;
            }
            let is_kept = self.field(id.get(), name, value, path);
            is_kept.unwrap_or_else(|error| {
                result = Err(error);
                true
            })
        });
        result
    }

    /// Returns whether the field is kept.
    fn field(
        &mut self,
        owner: &'static Struct,
        name: &str,
        value: &mut Value,
        path: &Path<'_>,
    ) -> Result<bool, DecodeError> {
        let field = owner.field(name);
        let embedding = field.map_or("", |field| &field.embedding);
        let path = Path {
            owner: Some(owner),
            ..path.child(Element::Field { embedding, name })
        };
        let Some(field) = field else {
            self.unknown.push(path.to_string());
            return Ok(false);
        };
        if value.is_null() {
            return Ok(false);
        }
        self.value(&field.type_, value, &path)?;
        Ok(field.is_pointer || !is_zero(value, field))
    }

    fn value(
        &mut self,
        type_: &Type,
        value: &mut Value,
        path: &Path<'_>,
    ) -> Result<(), DecodeError> {
        if path.depth > MAX_DEPTH {
            return self.reject(DecodeError::Invalid("json: exceeded max depth".to_owned()));
        }
        match (&type_.form, value) {
            (Form::List(item), Value::Array(items)) => self.list(item, items, path),
            (Form::Map(item), Value::Object(map)) => self.map(item, map, path),
            (Form::Struct(id) | Form::StructOr(id), Value::Object(object)) => {
                self.object(*id, object, path)
            }
            (Form::StructOr(id), Value::Array(items)) => {
                let objects = items.iter_mut().filter_map(Value::as_object_mut);
                let mut objects = objects.map(|object| self.object(*id, object, path));
                objects.try_for_each(|result| result)
            }
            (Form::Raw | Form::StructOr(_), _) => Ok(()),
            (_, value) => match scalar(type_, value, path) {
                Ok(canonical) => {
                    if let Some(canonical) = canonical {
                        *value = canonical.into();
                    }
                    Ok(())
                }
                Err(error) => self.reject(error),
            },
        }
    }

    fn reject(&self, error: DecodeError) -> Result<(), DecodeError> {
        if self.is_lenient { Ok(()) } else { Err(error) }
    }

    fn list(
        &mut self,
        item: &Type,
        values: &mut [Value],
        path: &Path<'_>,
    ) -> Result<(), DecodeError> {
        for (index, value) in values.iter_mut().enumerate() {
            if value.is_null() {
                *value = zero(item);
            } else {
                self.value(item, value, &path.child(Element::Index(index)))?;
            }
        }
        Ok(())
    }

    fn map(
        &mut self,
        item: &Type,
        map: &mut Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<(), DecodeError> {
        for (key, value) in map {
            if !value.is_null() {
                self.value(item, value, &path.child(Element::Key(key)))?;
            } else if item.form == Form::Bytes {
                // The store does not distinguish no bytes from null.
                *value = "".into();
            } else {
                *value = zero(item);
            }
        }
        Ok(())
    }
}

/// Returns the canonical text of a value that may be written in several ways.
fn scalar(type_: &Type, value: &Value, path: &Path<'_>) -> Result<Option<String>, DecodeError> {
    match (&type_.form, value) {
        (Form::String | Form::IntOrString, Value::String(_))
        | (Form::Bool, Value::Bool(_))
        | (Form::Float64, Value::Number(_)) => Ok(None),
        (Form::Int32 | Form::IntOrString, Value::Number(number)) => {
            let fits = number
                .as_i64()
                .is_some_and(|number| i32::try_from(number).is_ok());
            integer(fits, value, type_, path)
        }
        (Form::Int64, Value::Number(number)) => integer(number.is_i64(), value, type_, path),
        (Form::Bytes, Value::String(text)) => bytes(text).map(Some),
        (Form::Quantity, value) => quantity(value).map(Some),
        (Form::Time, Value::String(text)) => {
            time::seconds(text).map(Some).map_err(DecodeError::Invalid)
        }
        (Form::MicroTime, Value::String(text)) => {
            time::micros(text).map(Some).map_err(DecodeError::Invalid)
        }
        (_, value) => Err(path.mismatch(json_type(value), type_)),
    }
}

fn integer(
    fits: bool,
    value: &Value,
    type_: &Type,
    path: &Path<'_>,
) -> Result<Option<String>, DecodeError> {
    if fits {
        return Ok(None);
    }
    Err(path.mismatch(&format!("number {value}"), type_))
}

fn bytes(text: &str) -> Result<String, DecodeError> {
    base64::decode(text.as_bytes()).map_err(|error| DecodeError::Invalid(error.to_string()))?;
    Ok(text.replace(['\n', '\r'], ""))
}

fn quantity(value: &Value) -> Result<String, DecodeError> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match Quantity::parse(text.trim()) {
        Ok(parsed) => Ok(quantity::canonicalize(text.trim()).unwrap_or_else(|| parsed.canonical())),
        Err(error) => Err(DecodeError::Invalid(error.to_string())),
    }
}

/// Whether a field that is not a pointer holds its zero value, which is the same as an absent field.
fn is_zero(value: &Value, field: &Field) -> bool {
    let is_int_or_string = field.type_.form == Form::IntOrString;
    match value {
        Value::String(text) => text.is_empty() && !is_int_or_string,
        Value::Number(number) => number.as_f64() == Some(0.0) && !is_int_or_string,
        Value::Bool(flag) => !flag,
        // Without `omitempty`, an empty list is kept until the object is stored.
        Value::Array(items) => items.is_empty() && field.omit_empty,
        Value::Object(map) => map.is_empty() && matches!(field.type_.form, Form::Map(_)),
        Value::Null => true,
    }
}
