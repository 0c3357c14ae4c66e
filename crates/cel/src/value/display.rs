//! Values as text: `string()`, and `%v` of Go in messages.

use std::fmt::{self, Write as _};

use outrigger_gostd::strconv::{format_float, quote};
use outrigger_gostd::time::{Location, RFC3339_NANO};

use super::Value;

/// `%v` of Go. The text is cut off if it gets too long for a message.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_ITEMS: usize = 100;
        match self {
            Self::Null => f.write_str("NULL_VALUE"),
            Self::Bool(flag) => flag.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::Uint(number) => number.fmt(f),
            Self::Double(number) => f.write_str(&double(*number)),
            Self::String(text) => f.write_str(text.as_str()),
            Self::Bytes(bytes) => write!(f, "{bytes:?}"),
            Self::Duration(nanos) => f.write_str(&duration(*nanos)),
            Self::Timestamp(time) => {
                f.write_str(&String::from_utf8_lossy(&time.format(RFC3339_NANO)))
            }
            Self::Type(type_) => f.write_str(type_.runtime_name()),
            Self::Optional(None) => f.write_str("optional.none()"),
            Self::Optional(Some(value)) => write!(f, "optional({value})"),
            Self::Opaque(opaque) => opaque.fmt(f),
            Self::Preserved(json) => json.fmt(f),
            Self::Object(object) => {
                write!(f, "{}{{", object.type_)?;
                for (i, (name, value)) in object.fields.iter().take(MAX_ITEMS).enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    write!(f, "{separator}{name}: {value}")?;
                }
                f.write_char('}')
            }
            Self::List(list) => {
                f.write_char('[')?;
                for (i, item) in list.iter().take(MAX_ITEMS).enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    match item {
                        Ok(item) => write!(f, "{separator}{item}")?,
                        Err(error) => write!(f, "{separator}{error}")?,
                    }
                }
                f.write_char(']')
            }
            Self::Map(map) => {
                f.write_char('{')?;
                for (i, key) in map.keys().iter().take(MAX_ITEMS).enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    if let Some(Ok(value)) = map.find(key) {
                        write!(f, "{separator}{key}: {value}")?;
                    }
                }
                f.write_char('}')
            }
        }
    }
}

/// `%g` of Go.
pub(crate) fn double(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    format_float(number, b'g', None)
}

/// Seconds with as many decimals as a double needs.
#[expect(
    clippy::cast_precision_loss,
    reason = "time.Duration.Seconds of Go loses the same precision"
)]
pub(crate) fn duration(nanos: i64) -> String {
    const SECOND: i64 = 1_000_000_000;
    let (seconds, rest) = (nanos.wrapping_div(SECOND), nanos.wrapping_rem(SECOND));
    let seconds = seconds as f64 + rest as f64 / 1e9;
    format!("{}s", format_float(seconds, b'f', None))
}

impl Value<'_> {
    /// The value as an expression, as far as it can be written as one.
    pub fn to_expression(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Uint(number) => format!("{number}u"),
            Self::Double(number) => double_literal(*number),
            Self::String(text) => quote(text.as_str()),
            Self::Bytes(bytes) => {
                let octal = bytes.iter().map(|byte| format!("\\{byte:03o}"));
                format!("b\"{}\"", octal.collect::<String>())
            }
            Self::Duration(_) => format!("duration(\"{self}\")"),
            Self::Timestamp(time) => {
                let utc = time.in_location(Location::Utc).format(RFC3339_NANO);
                format!("timestamp(\"{}\")", String::from_utf8_lossy(&utc))
            }
            Self::Optional(Some(value)) => format!("optional.of({})", value.to_expression()),
            Self::List(list) => {
                let items = list.iter().map(|item| match item {
                    Ok(item) => item.to_expression(),
                    Err(error) => error.to_string(),
                });
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Self::Map(map) => {
                let entry = |key: &Self| match map.find(key) {
                    Some(Ok(value)) => {
                        format!("{}: {}", key.to_expression(), value.to_expression())
                    }
                    _ => key.to_expression(),
                };
                let mut entries: Vec<_> = map.keys().iter().map(entry).collect();
                entries.sort();
                format!("{{{}}}", entries.join(", "))
            }
            Self::Bool(_)
            | Self::Int(_)
            | Self::Object(_)
            | Self::Type(_)
            | Self::Optional(None)
            | Self::Opaque(_)
            | Self::Preserved(_) => self.to_string(),
        }
    }
}

fn double_literal(number: f64) -> String {
    if number.is_nan() {
        return "double(\"NaN\")".to_owned();
    }
    if number.is_infinite() {
        let sign = if number > 0.0 { "" } else { "-" };
        return format!("double(\"{sign}Infinity\")");
    }
    let text = format_float(number, b'f', None);
    if text.contains('.') {
        text
    } else {
        format!("{text}.0")
    }
}
