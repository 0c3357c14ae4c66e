//! The methods of Helm's `Values` type: `.Values.AsMap`, `.Values.YAML`, `.Values.Table`, `.Values.PathValue`.

use outrigger_gostd::strconv::quote_bytes;

use crate::function::{CallError, Signature, Ty};
use crate::value::{Map, MapType, Value};

pub(super) struct Method {
    pub signature: Signature,
    pub body: fn(&Map, &[Value]) -> Result<Value, CallError>,
}

/// The method `name`, which takes precedence over a key.
#[inline]
pub(super) fn method(name: &[u8]) -> Option<Method> {
    let (params, body): (&'static [Ty], _) = match name {
        b"AsMap" => (&[], as_map as fn(&Map, &[Value]) -> _),
        b"YAML" => (&[], yaml as _),
        b"Table" => (&[Ty::String], table as _),
        b"PathValue" => (&[Ty::String], path_value as _),
        _ => return None,
    };
    Some(Method {
        signature: Signature {
            params,
            variadic: false,
        },
        body,
    })
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "all methods have the same signature"
)]
fn as_map(values: &Map, _: &[Value]) -> Result<Value, CallError> {
    Ok(Value::Map(values.retyped(MapType::Any)))
}

fn yaml(values: &Map, _: &[Value]) -> Result<Value, CallError> {
    crate::yaml::marshal(&Value::Map(values.clone()))
        .map(Value::str)
        .map_err(|error| CallError::returned(error.to_string()))
}

fn table(values: &Map, args: &[Value]) -> Result<Value, CallError> {
    let path = path(args);
    let table = find_table(values, path.split('.'))?;
    Ok(Value::Map(table.retyped(values.ty())))
}

fn path_value(values: &Map, args: &[Value]) -> Result<Value, CallError> {
    let path = path(args);
    if path.is_empty() {
        return Err(CallError::returned("YAML path cannot be empty"));
    }
    let (tables, key) = match path.rsplit_once('.') {
        Some((tables, key)) => (Some(tables), key),
        None => (None, path.as_str()),
    };
    let missing = || CallError::returned(format!("{} is not a value", quote_bytes(key.as_bytes())));
    let table = match tables {
        Some(tables) => find_table(values, tables.split('.')).map_err(|_| missing())?,
        None => values.clone(),
    };
    match table.get(key.as_bytes()) {
        Some(Value::Map(_)) | None => Err(missing()),
        Some(value) => Ok(value),
    }
}

fn path(args: &[Value]) -> String {
    match args.first() {
        Some(Value::Str(path)) => path.to_text().into_owned(),
        _ => String::new(),
    }
}

fn find_table<'p>(values: &Map, path: impl Iterator<Item = &'p str>) -> Result<Map, CallError> {
    let mut table = values.clone();
    for name in path {
        let Some(Value::Map(inner)) = table.get(name.as_bytes()) else {
            let name = quote_bytes(name.as_bytes());
            return Err(CallError::returned(format!("{name} is not a table")));
        };
        table = inner;
    }
    Ok(table)
}
