//! JSON and TOML. The functions for YAML are in `yaml`, since the executor has fast paths for them.

use std::error::Error;

use super::args::{any, bytes, text};
use super::{CallResult, fixed, toml, too_large};
use crate::function::{Call, CallError, Function, Ty};
use crate::json::{self, EncodeError};
use crate::value::{Map, Str, Value};

const ANY: Ty = Ty::Any;
const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("toJson", &[ANY], STR, |_, args| {
        lenient(json::encode(any(args, 0), true))
    }),
    fixed("toPrettyJson", &[ANY], STR, |_, args| {
        lenient(json::encode_pretty(any(args, 0)))
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
    fixed("mustFromJson", &[STR], ANY, |call, args| {
        json::decode_within(bytes(args, 0), call.memory_bytes).map_err(returned)
    }),
    fixed("toToml", &[ANY], STR, to_toml),
    fixed("mustToToml", &[ANY], STR, |call, args| {
        strict(encoded_toml(call, args)?)
    }),
    fixed("fromToml", &[STR], Ty::Map, from_toml),
];

/// Functions without `must` return an empty string for a value that Go cannot encode. A limit is an error.
fn lenient(encoded: Result<Vec<u8>, EncodeError>) -> CallResult {
    match encoded {
        Err(EncodeError::TooLarge) => Err(too_large()),
        encoded => Ok(Value::str(encoded.unwrap_or_default())),
    }
}

fn strict<E: Error>(encoded: Result<Vec<u8>, E>) -> CallResult {
    encoded.map(Value::str).map_err(returned)
}

fn returned(error: impl Error) -> CallError {
    CallError::returned(error.to_string())
}

/// Helm's functions return the error in the entry `Error`.
fn with_error(map: Map, error: &dyn Error) -> Value {
    map.set(Str::from("Error"), Value::str(error.to_string()));
    Value::Map(map)
}

fn from_json(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(match json::decode_map(bytes(args, 0), call.memory_bytes) {
        (map, Some(error)) => with_error(map, &error),
        (map, None) => Value::Map(map),
    })
}

fn from_json_array(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(match json::decode_list(bytes(args, 0), call.memory_bytes) {
        Ok(list) => Value::List(list),
        Err(error) => Value::list(vec![Value::str(error.to_string())]),
    })
}

fn toml_edition(call: &Call<'_>) -> toml::Edition {
    if call.dialect.must_to_functions {
        toml::Edition::V1_6
    } else {
        toml::Edition::V1_4
    }
}

/// The document or the error of the encoder. For nil Go panics.
fn encoded_toml(
    call: &Call<'_>,
    args: &[Value],
) -> Result<Result<Vec<u8>, toml::EncodeError>, CallError> {
    if any(args, 0).is_nil() {
        return Err(CallError::returned(
            "reflect: call of reflect.Value.Type on zero Value",
        ));
    }
    Ok(toml::encode(any(args, 0), toml_edition(call)))
}

/// Returns the error of the encoder as text.
fn to_toml(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let encoded = match encoded_toml(call, args)? {
        Err(toml::EncodeError::TooLarge) => return Err(too_large()),
        encoded => encoded,
    };
    Ok(Value::str(
        encoded.unwrap_or_else(|error| error.to_string().into_bytes()),
    ))
}

fn from_toml(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(
        match toml::decode(&text(args, 0), toml_edition(call), call) {
            Ok(map) => Value::Map(map),
            Err(error) => with_error(Map::default(), &error),
        },
    )
}
