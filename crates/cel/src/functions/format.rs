//! `string.format`

use outrigger_gostd::strconv::{format_float, quote, quote_bytes};

use super::convert::string_of;
use super::{Function, list, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::Value;

type Result<T> = std::result::Result<T, Error>;

/// The number of decimals if there is no precision.
const DEFAULT_PRECISION: usize = 6;
/// No double has more significant decimals. Larger precisions are errors instead of zeros without end.
const MAX_PRECISION: usize = 1100;

/// A clause such as `%.2f`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clause {
    String,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hex { upper: bool },
    Octal,
}

pub(super) fn functions() -> Vec<Function> {
    let args = [Type::String, Type::list(Type::Dyn)];
    vec![
        Function::new("format")
            .member("string_format", args, Type::String, format)
            .variadic(),
    ]
}

impl Clause {
    /// The message for a value that the clause cannot format.
    fn type_message(self, type_name: &str) -> String {
        let rule = match self {
            Self::String => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed(_) => "fixed-point clause can only be used on doubles",
            Self::Scientific(_) => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on integers",
        };
        format!("{rule}, was given {type_name}")
    }

    /// Whether the clause may format values of a type, as far as it is known.
    fn accepts(self, type_: &Type) -> bool {
        let is_integer = matches!(type_, Type::Int | Type::Uint);
        match (self, type_) {
            (Self::String, Type::Struct(_)) => false,
            (Self::String, Type::Generic(_)) => {
                matches!(type_.runtime_name(), "list" | "map" | "type")
            }
            (_, Type::Dyn)
            | (Self::String, _)
            | (Self::Fixed(_) | Self::Scientific(_), Type::Double | Type::String)
            | (Self::Binary, Type::Bool)
            | (Self::Hex { .. }, Type::String | Type::Bytes) => true,
            (Self::Decimal | Self::Binary | Self::Hex { .. } | Self::Octal, _) => is_integer,
            _ => false,
        }
    }
}

/// The parts of a format: text and clauses, in order. The error is that of the first malformed clause.
fn parts(
    format: &str,
    mut on_text: impl FnMut(&str) -> Result<()>,
    mut on_clause: impl FnMut(Result<Clause>) -> Result<()>,
) -> Result<()> {
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        on_text(before)?;
        if let Some(after) = after.strip_prefix('%') {
            on_text("%")?;
            rest = after;
            continue;
        }
        match clause(after) {
            Ok((clause, after)) => {
                on_clause(Ok(clause))?;
                rest = after;
            }
            Err(error) => return on_clause(Err(error)),
        }
    }
    on_text(rest)
}

/// The clause after a percent sign, and the text after it.
fn clause(text: &str) -> Result<(Clause, &str)> {
    let parse_error =
        |message: String| Error::function(format!("could not parse formatting clause: {message}"));
    if text.is_empty() {
        return Err(Error::function("unexpected end of string"));
    }
    let (precision, text) = match text.strip_prefix('.') {
        None => (None, text),
        Some(after) => {
            let end = after.find(|c: char| !c.is_ascii_digit()).ok_or_else(|| {
                parse_error(
                    "error while parsing precision: could not find end of precision specifier"
                        .to_owned(),
                )
            })?;
            let (digits, rest) = after.split_at(end);
            let shown = quote(digits);
            let reason = match digits.parse::<usize>() {
                Ok(precision) if precision <= MAX_PRECISION => Ok(precision),
                Err(_) if digits.is_empty() => Err("invalid syntax"),
                _ => Err("value out of range"),
            };
            let precision = reason.map_err(|reason| {
                parse_error(format!(
                    "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing {shown}: {reason}"
                ))
            })?;
            (Some(precision), rest)
        }
    };
    let precision = precision.unwrap_or(DEFAULT_PRECISION);
    let mut characters = text.chars();
    let clause = match characters.next() {
        Some('s') => Clause::String,
        Some('d') => Clause::Decimal,
        Some('f') => Clause::Fixed(precision),
        Some('e') => Clause::Scientific(precision),
        Some('b') => Clause::Binary,
        Some('x') => Clause::Hex { upper: false },
        Some('X') => Clause::Hex { upper: true },
        Some('o') => Clause::Octal,
        other => {
            let shown = other.unwrap_or('%');
            return Err(parse_error(format!(
                "unrecognized formatting clause \"{shown}\""
            )));
        }
    };
    Ok((clause, characters.as_str()))
}

/// Checks a literal format with the types of its arguments. Returns what is wrong, and with which argument.
pub(crate) fn check(format: &str, args: &[Type]) -> Option<(Option<usize>, String)> {
    let mut index = 0_usize;
    let mut wrong = None;
    let result = parts(
        format,
        |_| Ok(()),
        |clause| {
            let current = index;
            index = index.saturating_add(1);
            let clause = match clause {
                Ok(clause) => clause,
                Err(error) => {
                    return Err(error);
                }
            };
            match args.get(current) {
                None => Err(Error::function(format!("index {current} out of range"))),
                Some(type_) if clause.accepts(type_) => Ok(()),
                Some(type_) => {
                    wrong = Some(current);
                    let message = clause.type_message(type_.runtime_name());
                    Err(Error::function(format!(
                        "error during formatting: {message}"
                    )))
                }
            }
        },
    );
    if let Err(error) = result {
        return Some((wrong, error.to_string()));
    }
    (args.len() > index).then(|| {
        let message = format!(
            "too many arguments supplied to string.format (expected {index}, got {})",
            args.len()
        );
        (None, message)
    })
}

fn format<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let [format, args] = args else {
        return Err(Error::NoSuchOverload);
    };
    let (format, args) = (text(format)?, list(args)?);
    let out = std::cell::RefCell::new(String::new());
    let meter = std::cell::RefCell::new(meter);
    let mut index = 0_usize;
    parts(
        format,
        |text| {
            meter.borrow_mut().copy(text.len())?;
            out.borrow_mut().push_str(text);
            Ok(())
        },
        |clause| {
            let missing = || Error::function(format!("index {index} out of range"));
            let arg = args.get(index).ok_or_else(missing)??;
            let text = format_clause(clause?, &arg, &mut meter.borrow_mut())?;
            out.borrow_mut().push_str(&text);
            index = index.saturating_add(1);
            Ok(())
        },
    )?;
    Ok(Value::string(out.into_inner()))
}

fn format_clause(clause: Clause, value: &Value<'_>, meter: &mut Meter) -> Result<String> {
    let unsupported = || {
        let message = clause.type_message(&value.type_name());
        Error::function(format!("error during formatting: {message}"))
    };
    let double = |value: &Value<'_>| match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    let formatted = match (clause, value) {
        (Clause::String, value) => string_clause(value, meter)?,
        (Clause::Decimal, Value::Int(number)) => number.to_string(),
        (Clause::Decimal, Value::Uint(number)) => number.to_string(),
        (Clause::Fixed(precision), value) => {
            fixed(double(value).ok_or_else(unsupported)?, precision)
        }
        (Clause::Scientific(precision), value) => {
            scientific(double(value).ok_or_else(unsupported)?, precision)
        }
        (Clause::Binary, Value::Int(number)) => {
            signed(*number, format!("{:b}", number.unsigned_abs()))
        }
        (Clause::Binary, Value::Uint(number)) => format!("{number:b}"),
        (Clause::Binary, Value::Bool(flag)) => u8::from(*flag).to_string(),
        (Clause::Octal, Value::Int(number)) => {
            signed(*number, format!("{:o}", number.unsigned_abs()))
        }
        (Clause::Octal, Value::Uint(number)) => format!("{number:o}"),
        (Clause::Hex { upper }, value) => {
            let hex = match value {
                Value::Int(number) => signed(*number, format!("{:x}", number.unsigned_abs())),
                Value::Uint(number) => format!("{number:x}"),
                Value::String(text) => hex_of(text.as_str().as_bytes(), meter)?,
                Value::Bytes(bytes) => hex_of(bytes, meter)?,
                _ => return Err(unsupported()),
            };
            if upper { hex.to_uppercase() } else { hex }
        }
        _ => return Err(unsupported()),
    };
    meter.copy(formatted.len())?;
    Ok(formatted)
}

fn signed(number: i64, magnitude: String) -> String {
    if number < 0 {
        format!("-{magnitude}")
    } else {
        magnitude
    }
}

fn hex_of(bytes: &[u8], meter: &mut Meter) -> Result<String> {
    meter.copy(bytes.len().saturating_mul(2))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn special(number: f64) -> Option<String> {
    if number.is_nan() {
        Some("NaN".to_owned())
    } else if number.is_infinite() {
        Some(if number > 0.0 { "∞" } else { "-∞" }.to_owned())
    } else {
        None
    }
}

/// `%.Nf` in the locale `en_US`: with separators between thousands.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(text) = special(number) {
        return text;
    }
    let text = format_float(number, b'f', Some(precision));
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (unsigned, String::new()),
    };
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len().saturating_sub(i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

/// `%Ne` in the locale `en_US`. The precision is the width in cel-go, so there are always six decimals.
fn scientific(number: f64, width: usize) -> String {
    let text = if let Some(text) = special(number) {
        text
    } else {
        let text = format_float(number, b'e', Some(DEFAULT_PRECISION));
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ("\u{207b}", digits),
            None => ("", exponent.trim_start_matches('+')),
        };
        let digits: String = digits.chars().map(superscript).collect();
        format!("{mantissa}×10{sign}{digits}")
    };
    let missing = width.saturating_sub(text.chars().count());
    format!("{}{text}", " ".repeat(missing))
}

fn superscript(digit: char) -> char {
    match digit {
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    }
}

/// `%s` of the clause itself, and of the members of lists and maps.
fn string_clause(value: &Value<'_>, meter: &mut Meter) -> Result<String> {
    match value {
        Value::Null => Ok("null".to_owned()),
        Value::List(_) | Value::Map(_) => member(value, meter),
        Value::Object(_) | Value::Optional(_) | Value::Opaque(_) | Value::Preserved(_) => {
            let message = Clause::String.type_message(&value.type_name());
            Err(Error::function(format!(
                "error during formatting: {message}"
            )))
        }
        value => string_of(value, meter),
    }
}

/// A member of a list or map, quoted as in CEL.
fn member(value: &Value<'_>, meter: &mut Meter) -> Result<String> {
    meter.work(1)?;
    Ok(match value {
        Value::List(list) => {
            let mut out = String::from("[");
            for (i, item) in list.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                let item = member(&item?, meter)?;
                meter.copy(item.len())?;
                out.push_str(&item);
            }
            out.push(']');
            out
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for key in map.keys() {
                let value = match map.find(&key) {
                    Some(value) => member(&value?, meter)?,
                    None => continue,
                };
                entries.push((member(&key, meter)?, value));
            }
            entries.sort();
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{key}:{value}"))
                .collect();
            let text = format!("{{{}}}", entries.join(", "));
            meter.copy(text.len())?;
            text
        }
        Value::String(text) => {
            meter.copy(text.as_str().len())?;
            quote(text.as_str())
        }
        Value::Bytes(bytes) => format!("b{}", quote_bytes(bytes)),
        Value::Timestamp(_) => format!("timestamp({})", quote(&string_of(value, meter)?)),
        Value::Duration(_) => format!("duration({})", quote(&string_of(value, meter)?)),
        Value::Double(number) => match special(*number) {
            Some(_) => quote(&go_special(*number)),
            None => format_float(*number, b'f', Some(DEFAULT_PRECISION)),
        },
        Value::Object(_) | Value::Optional(_) | Value::Opaque(_) | Value::Preserved(_) => {
            let message = format!(
                "error during formatting: no formatting function for {}",
                value.type_name()
            );
            return Err(Error::function(message));
        }
        value => string_clause(value, meter)?,
    })
}

fn go_special(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number > 0.0 {
        "+Inf".to_owned()
    } else {
        "-Inf".to_owned()
    }
}
