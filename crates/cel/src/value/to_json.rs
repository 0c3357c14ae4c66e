//! Converts values to JSON: what expressions of mutating admission policies return.

use outrigger_gostd::base64;
use outrigger_gostd::time::RFC3339_NANO;
use serde_json::{Map as JsonMap, Number, Value as Json};

use super::display::duration;
use super::map::Key;
use super::{Map, Value};
use crate::error::Error;
use crate::meter::Meter;

/// Deeper values are rejected.
const MAX_DEPTH: usize = 100;

impl Value<'_> {
    /// The value as JSON. Fails if it has no representation, or is too large or nested too deeply.
    pub fn to_json(&self) -> Result<Json, Error> {
        convert(self, MAX_DEPTH, &mut Meter::new(u64::MAX))
    }
}

fn convert(value: &Value<'_>, depth: usize, meter: &mut Meter) -> Result<Json, Error> {
    meter.work(1)?;
    let Some(inner) = depth.checked_sub(1) else {
        return Err(Error::TooLarge);
    };
    Ok(match value {
        Value::Null | Value::Optional(None) => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => (*number).into(),
        Value::Uint(number) => (*number).into(),
        Value::Double(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        Value::String(text) => {
            meter.copy(text.as_str().len())?;
            text.as_str().into()
        }
        Value::Bytes(bytes) => {
            meter.copy(bytes.len())?;
            base64::encode(bytes).into()
        }
        Value::Duration(nanos) => duration(*nanos).into(),
        Value::Timestamp(time) => String::from_utf8_lossy(&time.format(RFC3339_NANO)).into(),
        Value::Optional(Some(value)) => convert(value, inner, meter)?,
        Value::List(list) => {
            let items = list.iter().map(|item| convert(&item?, inner, meter));
            Json::Array(items.collect::<Result<_, Error>>()?)
        }
        Value::Map(map) => entries(map, inner, meter)?,
        Value::Object(object) => {
            let fields = object.fields.iter();
            let fields =
                fields.map(|(name, value)| Ok((name.to_string(), convert(value, inner, meter)?)));
            Json::Object(fields.collect::<Result<JsonMap<_, _>, Error>>()?)
        }
        Value::Preserved(json) => (*json).clone(),
        Value::Type(_) | Value::Opaque(_) => {
            let type_ = value.type_name();
            return Err(Error::function(format!("type {type_} is not a JSON value")));
        }
    })
}

fn entries(map: &Map<'_>, depth: usize, meter: &mut Meter) -> Result<Json, Error> {
    let mut object = JsonMap::new();
    for key in map.keys() {
        let Some(Key::String(name)) = Key::new(&key) else {
            let type_ = key.type_name();
            return Err(Error::function(format!(
                "map key {key} is of type {type_}, not string"
            )));
        };
        if let Some(value) = map.find(&key) {
            meter.copy(name.as_str().len())?;
            object.insert(name.as_str().to_owned(), convert(&value?, depth, meter)?);
        }
    }
    Ok(Json::Object(object))
}
