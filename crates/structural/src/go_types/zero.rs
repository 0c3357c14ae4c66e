//! Adds the fields that encoding/json writes although they are zero, and lets a defaulter set others first.

use serde_json::{Map, Value};

use super::{Field, Form, StructId, Type};

/// Sets the defaults of values, from the outside in.
pub trait Defaulter {
    /// Sees a struct without its zero values.
    fn default_struct(&self, id: StructId, object: &mut Map<String, Value>);

    fn default_resource_list(&self, list: &mut Map<String, Value>);
}

/// Sets nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoDefaults;

impl Defaulter for NoDefaults {
    fn default_struct(&self, _: StructId, _: &mut Map<String, Value>) {}

    fn default_resource_list(&self, _: &mut Map<String, Value>) {}
}

/// Sets the defaults of a decoded struct and adds the zero values that are not omitted.
pub fn add_zero_values(id: StructId, object: &mut Map<String, Value>, defaulter: &impl Defaulter) {
    defaulter.default_struct(id, object);
    for field in &id.get().fields {
        match object.get_mut(field.name) {
            Some(value) => visit(&field.type_, value, defaulter),
            None if is_omitted(field) => {}
            None => {
                let mut value = if field.is_pointer {
                    Value::Null
                } else {
                    zero(&field.type_)
                };
                visit(&field.type_, &mut value, defaulter);
                object.insert(field.name.to_owned(), value);
            }
        }
    }
}

fn visit(type_: &Type, value: &mut Value, defaulter: &impl Defaulter) {
    match (&type_.form, value) {
        (Form::Struct(id) | Form::StructOr(id), Value::Object(object)) => {
            add_zero_values(*id, object, defaulter);
        }
        (Form::StructOr(id), Value::Array(items)) => {
            for item in items {
                if let Value::Object(object) = item {
                    add_zero_values(*id, object, defaulter);
                }
            }
        }
        (Form::List(inner), Value::Array(items)) => {
            for item in items {
                visit(inner, item, defaulter);
            }
        }
        (Form::Map(_), Value::Object(map)) if type_.is_resource_list() => {
            defaulter.default_resource_list(map);
        }
        (Form::Map(inner), Value::Object(map)) => {
            for (_, item) in map {
                visit(inner, item, defaulter);
            }
        }
        _ => {}
    }
}

/// Whether encoding/json omits the zero value. No struct is empty to it, so `omitempty` does not omit one.
fn is_omitted(field: &Field) -> bool {
    let is_struct = matches!(
        field.type_.form,
        Form::Struct(_)
            | Form::Time
            | Form::MicroTime
            | Form::Quantity
            | Form::IntOrString
            | Form::Raw
    );
    field.omit_zero || field.omit_empty && (field.is_pointer || !is_struct)
}

/// The JSON of the zero value of a type.
pub(super) fn zero(type_: &Type) -> Value {
    match type_.form {
        Form::String => "".into(),
        Form::Int32 | Form::Int64 | Form::IntOrString | Form::Float64 => 0.into(),
        Form::Bool => false.into(),
        Form::Quantity => "0".into(),
        Form::Struct(_) => Value::Object(Map::new()),
        Form::Bytes
        | Form::Time
        | Form::MicroTime
        | Form::Raw
        | Form::List(_)
        | Form::Map(_)
        | Form::StructOr(_) => Value::Null,
    }
}
