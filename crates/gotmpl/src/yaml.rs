//! Helm's functions for YAML: `toYaml`, `toYamlPretty`, `mustToYaml`, `fromYaml` and `fromYamlArray`.

mod marshal;
mod unmarshal;

use crate::function::{Call, CallError, CallResult, Function, Ty};
use crate::value::{Element, List, Value};

pub(crate) use marshal::{append_indented, append_yaml, marshal};

pub(crate) static TABLE: &[Function] = &[
    Function {
        name: "toYaml",
        params: &[Ty::Any],
        variadic: false,
        result: Ty::String,
        body: |_, args| Ok(Value::str(to_yaml(first(args)))),
    },
    Function {
        name: "mustToYaml",
        params: &[Ty::Any],
        variadic: false,
        result: Ty::String,
        body: must_to_yaml,
    },
    Function {
        name: "toYamlPretty",
        params: &[Ty::Any],
        variadic: false,
        result: Ty::String,
        body: to_yaml_pretty,
    },
    Function {
        name: "fromYaml",
        params: &[Ty::String],
        variadic: false,
        result: Ty::Map,
        body: from_yaml,
    },
    Function {
        name: "fromYamlArray",
        params: &[Ty::String],
        variadic: false,
        result: Ty::List,
        body: from_yaml_array,
    },
];

/// `toYaml`: without the trailing newline, and empty for a value that cannot be marshaled.
pub fn to_yaml(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    append_yaml(&mut out, value);
    out
}

fn must_to_yaml(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut text = marshal(first(args)).map_err(|error| CallError::returned(error.to_string()))?;
    if text.ends_with(b"\n") {
        text.pop();
    }
    Ok(Value::str(text))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn to_yaml_pretty(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut out = Vec::new();
    marshal::append_pretty(&mut out, first(args));
    Ok(Value::str(out))
}

/// Returns an error in the entry `Error`.
#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn from_yaml(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(match unmarshal::map(bytes(args)) {
        Ok(map) => Value::Map(map),
        Err(error) => Value::map(vec![("Error".into(), Value::str(error.full_text()))]),
    })
}

/// Returns an error as the only item.
#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn from_yaml_array(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::List(match unmarshal::list(bytes(args)) {
        Ok(list) => list,
        Err(error) => List::new(Element::Any, vec![Value::str(error.full_text())]),
    }))
}

fn first(args: &[Value]) -> &Value {
    args.first().unwrap_or(&Value::Nil)
}

fn bytes(args: &[Value]) -> &[u8] {
    match args.first() {
        Some(Value::Str(text)) => text.as_bytes(),
        _ => &[],
    }
}
