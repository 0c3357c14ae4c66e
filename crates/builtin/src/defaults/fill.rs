//! Sets the defaults of an object from the outside in, and adds the fields without `omitempty`.

use serde_json::{Map, Value};

use super::read::zero;
use super::shapes::{Field, Form, Type, shapes};

/// Completes an object of a Go struct.
pub(super) fn fill(id: usize, object: &mut Map<String, Value>) {
    let shape = shapes().get(id);
    if let Some(rule) = shape.rule {
        rule(object);
    }
    for field in &shape.fields {
        match object.get_mut(field.name) {
            Some(value) => fill_value(&field.type_, value),
            None => fill_absent(field, object),
        }
    }
}

fn fill_value(type_: &Type, value: &mut Value) {
    match (&type_.form, value) {
        (Form::Struct(id) | Form::StructOr(id), Value::Object(map)) => fill(*id, map),
        (Form::StructOr(id), Value::Array(items)) => {
            for item in items {
                if let Value::Object(map) = item {
                    fill(*id, map);
                }
            }
        }
        (Form::List(inner), Value::Array(items)) => {
            for item in items {
                fill_value(inner, item);
            }
        }
        (Form::Map(inner), Value::Object(map)) => {
            for (_, item) in map {
                fill_value(inner, item);
            }
        }
        _ => {}
    }
}

fn fill_absent(field: &Field, object: &mut Map<String, Value>) {
    let form = &field.type_.form;
    let is_struct = matches!(form, Form::Struct(_) | Form::Time | Form::MicroTime)
        || (*form == Form::Quantity || *form == Form::IntOrString);
    // `omitempty` never omits structs.
    let is_written = !field.omit_empty || (is_struct && !field.is_pointer);
    if !is_written || field.omit_zero {
        return;
    }
    let mut value = if field.is_pointer {
        Value::Null
    } else {
        zero(&field.type_)
    };
    fill_value(&field.type_, &mut value);
    object.insert(field.name.to_owned(), value);
}
