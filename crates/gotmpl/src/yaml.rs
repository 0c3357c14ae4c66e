//! Values to YAML and back: `toYaml`, `toYamlPretty`, `mustToYaml`, `fromYaml`, `fromYamlArray`.

mod read;
mod write;

use crate::function::{Call, CallError, Function, Ty};
use crate::value::{Element, List, Value};

pub(crate) use write::{append_indented, append_yaml, marshal};

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

type Result = std::result::Result<Value, CallError>;

/// `toYaml`: without the trailing newline, and empty for a value that cannot be marshaled.
pub fn to_yaml(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    append_yaml(&mut out, value);
    out
}

fn must_to_yaml(_: &mut Call<'_>, args: &[Value]) -> Result {
    let mut text = marshal(first(args)).map_err(|error| CallError::returned(error.to_string()))?;
    if text.ends_with(b"\n") {
        text.pop();
    }
    Ok(Value::str(text))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn to_yaml_pretty(_: &mut Call<'_>, args: &[Value]) -> Result {
    let mut out = Vec::new();
    write::append_pretty(&mut out, first(args));
    Ok(Value::str(out))
}

/// What cannot be read becomes the entry `Error`.
#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn from_yaml(_: &mut Call<'_>, args: &[Value]) -> Result {
    Ok(match read::map(bytes(args)) {
        Ok(map) => Value::Map(map),
        Err(error) => Value::map(vec![("Error".into(), Value::str(error.full_text()))]),
    })
}

/// What cannot be read becomes the only item.
#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn from_yaml_array(_: &mut Call<'_>, args: &[Value]) -> Result {
    Ok(Value::List(match read::list(bytes(args)) {
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
