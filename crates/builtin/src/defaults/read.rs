//! Reads an object as the typed decoder of the real server does: unknown and empty fields go, numbers and times get
//! their one form, and what has the wrong type is an error in the real server's words.

use outrigger_apimachinery::quantity::{self, Quantity};
use outrigger_gostd::base64;
use outrigger_structural::schema::strict::json_type;
use serde_json::{Map, Value};

use super::shapes::{Field, Form, Shapes, Type, shapes};
use super::time;

const MAX_DEPTH: usize = 100;

/// A value that the typed decoder rejects, in the words of the real server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// `json.UnmarshalTypeError`.
    #[error("json: cannot unmarshal {value} into Go struct field {field} of type {go_type}")]
    Mismatch {
        /// The JSON type of the value, followed by the value if it is a number out of range.
        value: String,
        field: String,
        go_type: String,
    },
    #[error("{0}")]
    Invalid(String),
}

/// Reads an object of a structure. Returns the fields that are unknown and were dropped.
pub(super) fn read(id: usize, object: &mut Value) -> Result<Vec<String>, Error> {
    let mut reader = Reader {
        shapes: shapes(),
        unknown: Vec::new(),
    };
    let Value::Object(map) = object.take() else {
        return Err(Error::Invalid(
            "json: cannot unmarshal a value that is no object".to_owned(),
        ));
    };
    let map = reader.structure(id, map, &Place::ROOT)?;
    *object = Value::Object(map);
    Ok(reader.unknown)
}

/// Where a value is. Costs nothing until a message is written.
struct Place<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
    /// The innermost structure.
    structure: &'static str,
    depth: usize,
}

enum Step<'a> {
    Root,
    /// A field, with the inlined structures that it comes through.
    Field(&'a str, &'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Place<'a> {
    const ROOT: Place<'static> = Place {
        parent: None,
        step: Step::Root,
        structure: "",
        depth: 0,
    };

    fn inner(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
            structure: self.structure,
            depth: self.depth + 1,
        }
    }

    /// As messages about unknown fields have it: `spec.containers[0].image`.
    fn plain(&self) -> String {
        let mut path = self.parent.map_or_else(String::new, Place::plain);
        match self.step {
            Step::Root => {}
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Field(_, name) | Step::Key(name) => push(&mut path, name),
        }
        path
    }

    /// As messages about types have it: no indexes, but the names of inlined structures.
    fn typed(&self) -> String {
        let mut path = self.parent.map_or_else(String::new, Place::typed);
        if let Step::Field(through, name) = self.step {
            push(&mut path, through);
            push(&mut path, name);
        }
        path
    }

    fn mismatch(&self, value: &str, type_: &Type) -> Error {
        Error::Mismatch {
            value: value.to_owned(),
            field: format!("{}.{}", self.structure, self.typed()),
            go_type: type_.describe(),
        }
    }
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() && !path.ends_with('.') {
        path.push('.');
    }
    path.push_str(name);
}

struct Reader {
    shapes: &'static Shapes,
    unknown: Vec<String>,
}

impl Reader {
    fn structure(
        &mut self,
        id: usize,
        map: Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<Map<String, Value>, Error> {
        let shape = self.shapes.get(id);
        let mut read = Map::new();
        for (name, value) in map {
            let field = shape.field(&name);
            let through = field.map_or("", |field| &field.through);
            let inner = Place {
                structure: shape.short_name(),
                ..place.inner(Step::Field(through, &name))
            };
            let Some(field) = field else {
                self.unknown.push(inner.plain());
                continue;
            };
            if value.is_null() {
                continue;
            }
            let value = self.value(&field.type_, value, &inner)?;
            if field.is_pointer || !is_zero(&value, field) {
                read.insert(name, value);
            }
        }
        Ok(read)
    }

    fn value(&mut self, type_: &Type, value: Value, place: &Place<'_>) -> Result<Value, Error> {
        if place.depth > MAX_DEPTH {
            return Err(Error::Invalid("json: exceeded max depth".to_owned()));
        }
        match (&type_.form, value) {
            (Form::Any, value) => Ok(value),
            (Form::List(item), Value::Array(values)) => self.list(item, values, place),
            (Form::Map(_), Value::Object(map)) => self.map(type_, map, place),
            (Form::Struct(id) | Form::StructOr(id), Value::Object(map)) => {
                Ok(Value::Object(self.structure(*id, map, place)?))
            }
            (Form::StructOr(id), value) => self.instead_of_struct(*id, value, place),
            (_, value) => scalar(type_, value, place),
        }
    }

    fn list(&mut self, item: &Type, values: Vec<Value>, place: &Place<'_>) -> Result<Value, Error> {
        let mut list = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let inner = place.inner(Step::Index(index));
            list.push(match value {
                Value::Null => zero(item),
                value => self.value(item, value, &inner)?,
            });
        }
        Ok(Value::Array(list))
    }

    fn map(
        &mut self,
        type_: &Type,
        map: Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<Value, Error> {
        let Form::Map(item) = &type_.form else {
            return Ok(Value::Object(map));
        };
        let mut read = Map::new();
        for (key, value) in map {
            let value = match value {
                Value::Null if item.form == Form::Bytes => "".into(),
                Value::Null => zero(item),
                value => self.value(item, value, &place.inner(Step::Key(&key)))?,
            };
            let value = if type_.is_resource_list() {
                in_millis(&value)
            } else {
                value
            };
            read.insert(key, value);
        }
        Ok(Value::Object(read))
    }

    /// A list of structures or texts, or a plain value, where a structure may stand too.
    fn instead_of_struct(
        &mut self,
        id: usize,
        value: Value,
        place: &Place<'_>,
    ) -> Result<Value, Error> {
        let Value::Array(values) = value else {
            return Ok(value);
        };
        let items = values.into_iter().map(|value| match value {
            Value::Object(map) => Ok(Value::Object(self.structure(id, map, place)?)),
            value => Ok(value),
        });
        items.collect::<Result<_, _>>().map(Value::Array)
    }
}

fn in_millis(value: &Value) -> Value {
    let quantity = value.as_str().map(Quantity::parse);
    match quantity {
        Some(Ok(quantity)) => quantity.to_millis().canonical().into(),
        _ => value.clone(),
    }
}

fn scalar(type_: &Type, value: Value, place: &Place<'_>) -> Result<Value, Error> {
    match (&type_.form, &value) {
        (Form::Text | Form::IntOrString, Value::String(_)) | (Form::Bool, Value::Bool(_)) => {
            Ok(value)
        }
        (Form::Int32 | Form::IntOrString, Value::Number(number)) => {
            let fits = number
                .as_i64()
                .is_some_and(|number| i32::try_from(number).is_ok());
            integer(fits, value, type_, place)
        }
        (Form::Int64, Value::Number(number)) => integer(number.is_i64(), value, type_, place),
        (Form::Float, Value::Number(_)) => Ok(value),
        (Form::Bytes, Value::String(text)) => bytes(text),
        (Form::Quantity, value) => quantity(value),
        (Form::Time, Value::String(text)) => {
            time::seconds(text).map(Value::from).map_err(Error::Invalid)
        }
        (Form::MicroTime, Value::String(text)) => {
            time::micros(text).map(Value::from).map_err(Error::Invalid)
        }
        (_, value) => Err(place.mismatch(json_type(value), type_)),
    }
}

fn integer(fits: bool, value: Value, type_: &Type, place: &Place<'_>) -> Result<Value, Error> {
    if fits {
        return Ok(value);
    }
    Err(place.mismatch(&format!("number {value}"), type_))
}

fn bytes(text: &str) -> Result<Value, Error> {
    base64::decode(text.as_bytes()).map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(text.replace(['\n', '\r'], "").into())
}

fn quantity(value: &Value) -> Result<Value, Error> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match Quantity::parse(text.trim()) {
        Ok(parsed) => {
            let shown = quantity::canonicalize(text.trim());
            Ok(shown.unwrap_or_else(|| parsed.canonical()).into())
        }
        Err(error) => Err(Error::Invalid(error.to_string())),
    }
}

/// What an absent value of a type is written as, where it cannot be left out.
pub(super) fn zero(type_: &Type) -> Value {
    match type_.form {
        Form::Text => "".into(),
        Form::Int32 | Form::Int64 | Form::IntOrString | Form::Float => 0.into(),
        Form::Bool => false.into(),
        Form::Quantity => "0".into(),
        Form::Struct(_) => Value::Object(Map::new()),
        Form::Bytes
        | Form::Time
        | Form::MicroTime
        | Form::Any
        | Form::List(_)
        | Form::Map(_)
        | Form::StructOr(_) => Value::Null,
    }
}

/// Whether a value is the same as none.
fn is_zero(value: &Value, field: &Field) -> bool {
    match value {
        Value::String(text) => text.is_empty() && field.type_.form != Form::IntOrString,
        Value::Number(number) => {
            number.as_f64() == Some(0.0) && field.type_.form != Form::IntOrString
        }
        Value::Bool(flag) => !flag,
        // Where it cannot be left out, an empty list is kept until the object is stored.
        Value::Array(items) => items.is_empty() && field.omit_empty,
        Value::Object(map) => map.is_empty() && matches!(field.type_.form, Form::Map(_)),
        Value::Null => true,
    }
}
