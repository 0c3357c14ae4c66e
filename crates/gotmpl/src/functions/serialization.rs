//! JSON and TOML in templates. YAML is next to the executor, which owns its fast paths.

use super::args::{any, bytes, text};
use super::{Outcome, fixed, toml};
use crate::function::{Call, CallError, Function, Ty};
use crate::json;
use crate::value::{Map, Str, Value};

const ANY: Ty = Ty::Any;
const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("toJson", &[ANY], STR, |_, args| {
        Ok(lenient(json::encode(any(args, 0), true)))
    }),
    fixed("toPrettyJson", &[ANY], STR, |_, args| {
        Ok(lenient(json::encode_pretty(any(args, 0))))
    }),
    fixed("toRawJson", &[ANY], STR, |_, args| {
        strict(json::encode(any(args, 0), false))
    }),
    fixed("mustToJson", &[ANY], STR, |_, args| {
        strict(json::encode(any(args, 0), true))
    }),
    fixed("mustToPrettyJson", &[ANY], STR, |_, args| {
        strict(json::encode_pretty(any(args, 0)))
    }),
    fixed("mustToRawJson", &[ANY], STR, |_, args| {
        strict(json::encode(any(args, 0), false))
    }),
    fixed("fromJson", &[STR], Ty::Map, from_json),
    fixed("fromJsonArray", &[STR], Ty::List, from_json_array),
    fixed("mustFromJson", &[STR], ANY, |_, args| {
        json::decode(bytes(args, 0)).map_err(CallError::Returned)
    }),
    fixed("toToml", &[ANY], STR, to_toml),
    fixed("mustToToml", &[ANY], STR, |call, args| {
        strict(encoded_toml(call, args)?)
    }),
    fixed("fromToml", &[STR], Ty::Map, from_toml),
];

/// Functions without `must` give nothing for a value that has no JSON form.
fn lenient(encoded: Result<Vec<u8>, String>) -> Value {
    Value::str(encoded.unwrap_or_default())
}

fn strict(encoded: Result<Vec<u8>, String>) -> Outcome {
    encoded.map(Value::str).map_err(CallError::Returned)
}

/// What could be read, with the error under the key `Error`.
fn with_error(map: Map, error: Option<String>) -> Value {
    let Some(error) = error else {
        return Value::Map(map);
    };
    map.set(Str::from("Error"), Value::str(error));
    Value::Map(map)
}

fn from_json(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let (map, error) = json::decode_map(bytes(args, 0));
    Ok(with_error(map, error))
}

fn from_json_array(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    Ok(match json::decode_list(bytes(args, 0)) {
        Ok(list) => Value::List(list),
        Err(error) => Value::list(vec![Value::str(error)]),
    })
}

fn toml_edition(call: &Call<'_>) -> toml::Edition {
    if call.dialect.must_to_functions {
        toml::Edition::V1_6
    } else {
        toml::Edition::V1_4
    }
}

/// The text or the encoder's own error; nothing at all is a worse mistake.
fn encoded_toml(call: &Call<'_>, args: &[Value]) -> Result<Result<Vec<u8>, String>, CallError> {
    if any(args, 0).is_nil() {
        return Err(CallError::returned(
            "reflect: call of reflect.Value.Type on zero Value",
        ));
    }
    Ok(toml::encode(any(args, 0), toml_edition(call)))
}

/// An error of the encoder is told in the result.
fn to_toml(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    let encoded = encoded_toml(call, args)?;
    Ok(Value::str(encoded.unwrap_or_else(String::into_bytes)))
}

fn from_toml(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    Ok(
        match toml::decode(&text(args, 0), toml_edition(call), call) {
            Ok(map) => Value::Map(map),
            Err(error) => with_error(Map::default(), Some(error)),
        },
    )
}
