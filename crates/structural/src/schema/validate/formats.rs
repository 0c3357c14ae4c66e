//! String formats, after go-openapi's strfmt. Unknown formats are ignored.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use outrigger_apimachinery::status::field::ErrorType;
use regex::Regex;

use super::result::{ValidationError, ValidationResult};
use crate::schema::{SchemaRef, Type};

const STRING_FORMATS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// The format of a schema if it is supported for its type.
pub(super) fn supported_format(schema: SchemaRef<'_>) -> &str {
    let format = schema.node().format.as_str();
    let is_known = match schema.type_ {
        Type::Any | Type::String => is_string_format(format),
        Type::Integer => matches!(format, "int32" | "int64"),
        Type::Number => matches!(format, "float" | "double"),
        Type::Object | Type::Array | Type::Boolean | Type::Scalar => false,
    };
    if is_known { format } else { "" }
}

/// Whether values of a type are validated against a format.
pub fn is_recognized_format(type_: &str, format: &str) -> bool {
    match type_ {
        "" | "string" => is_string_format(format),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether strings are validated against the format.
pub(super) fn is_string_format(format: &str) -> bool {
    STRING_FORMATS.contains(&format.replace('-', "").as_str())
}

pub(super) fn validate(path: &str, format: &str, text: &str) -> ValidationResult {
    let mut result = ValidationResult::default();
    if !is_valid(&format.replace('-', ""), text) {
        let detail = format!(
            "must be of type {format}: {}",
            outrigger_gostd::strconv::quote(text)
        );
        result.add(ValidationError::at(
            path,
            ErrorType::TypeInvalid,
            text,
            detail,
        ));
    }
    result
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(
    HOSTNAME,
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
);
pattern!(
    UUID,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
);
pattern!(
    UUID3,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
);
pattern!(
    UUID4,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"
);
pattern!(
    UUID5,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"
);
pattern!(HEX_COLOR, "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
pattern!(
    RGB_COLOR,
    r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$"
);
pattern!(SSN, r"^\d{3}[- ]?\d{2}[- ]?\d{4}$");
pattern!(
    BASE64,
    "^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})$"
);
pattern!(
    CREDIT_CARD,
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$"
);
pattern!(
    MAC,
    r"^(?i)(([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|([0-9a-f]{2}[:-]){7}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}|([0-9a-f]{4}\.){3}[0-9a-f]{4})$"
);
pattern!(
    EMAIL,
    r#"^(?:[^<>@",;:\\\[\]()]*<)?[^\s<>@",;:\\\[\]()]+@[^\s<>@",;:\\()]+>?$"#
);
pattern!(
    GO_DURATION,
    r"^[+-]?(0|(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$"
);
pattern!(DURATION_PART, r"(\d+)\s*([A-Za-zµ]+)");
pattern!(SHORT_NAME, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
pattern!(
    LONG_NAME,
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
);
pattern!(OBJECT_ID, "^[0-9a-fA-F]{24}$");
pattern!(
    CLOCK,
    r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?([zZ]|[+-][0-9]{2}:[0-9]{2})$"
);

fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text))
}

fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "bsonobjectid" => matches(&OBJECT_ID, text),
        "uri" => is_request_uri(text),
        "email" => matches(&EMAIL, text),
        "hostname" => {
            matches(&HOSTNAME, text)
                && text.len() <= 255
                && text.split('.').all(|part| part.len() <= 63)
        }
        "ipv4" => text.contains('.') && parse_ip(text).is_some(),
        "ipv6" => text.contains(':') && parse_ip(text).is_some(),
        "cidr" => is_cidr(text),
        "mac" => matches(&MAC, text),
        "uuid" => matches(&UUID, text),
        "uuid3" => matches(&UUID3, text),
        "uuid4" => matches(&UUID4, text),
        "uuid5" => matches(&UUID5, text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => matches(&SSN, text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "rgbcolor" => matches(&RGB_COLOR, text),
        "byte" => matches(&BASE64, text),
        "date" => is_date(text),
        "duration" => is_duration(text),
        "datetime" => is_date_time(text),
        "k8sshortname" => text.len() <= 63 && matches(&SHORT_NAME, text),
        "k8slongname" => text.len() <= 253 && matches(&LONG_NAME, text),
        _ => true,
    }
}

/// `url.ParseRequestURI`: an absolute URI or an absolute path.
fn is_request_uri(text: &str) -> bool {
    let is_clean = !text.is_empty() && text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    is_clean && (text.starts_with('/') || scheme.is_some_and(is_scheme))
}

/// Ignores leading zeros in IPv4 addresses, as `netutils.ParseIPSloppy` does.
fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        let address = text.parse::<Ipv6Addr>().ok()?;
        return Some(address.into());
    }
    let parts: Vec<&str> = text.split('.').collect();
    let [a, b, c, d] = parts.as_slice() else {
        return None;
    };
    let octet = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.trim_start_matches('0')
            .parse::<u8>()
            .ok()
            .or_else(|| (is_number && part.bytes().all(|byte| byte == b'0')).then_some(0))
            .filter(|_| is_number)
    };
    Some(IpAddr::from([octet(a)?, octet(b)?, octet(c)?, octet(d)?]))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let max = match parse_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    is_number && length.parse::<u32>().is_ok_and(|length| length <= max)
}

fn digits(text: &str) -> Option<Vec<u32>> {
    let text = text.replace([' ', '-'], "");
    text.chars()
        .map(|c| if c == 'X' { Some(10) } else { c.to_digit(10) })
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let Some(digits) = digits(text).filter(|digits| digits.len() == 10) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .zip(1..)
        .map(|(digit, weight)| digit * weight)
        .sum();
    sum.is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let Some(digits) = digits(text).filter(|digits| digits.len() == 13) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .sum();
    sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    if !matches(&CREDIT_CARD, &text) {
        return false;
    }
    let doubled = |(position, digit): (usize, u32)| match (position % 2, digit * 2) {
        (1, twice) if twice >= 10 => twice % 10 + 1,
        (1, twice) => twice,
        _ => digit,
    };
    let sum: u32 = text
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(doubled)
        .sum();
    sum.is_multiple_of(10)
}

fn is_date(text: &str) -> bool {
    let number =
        |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' || text.contains('+') {
        return false;
    }
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

pub(in crate::schema) fn is_date_time(text: &str) -> bool {
    if text.len() < 4 {
        return false;
    }
    let Some((date, clock)) = text.split_once(['T', 't']) else {
        return false;
    };
    let is_below =
        |range: std::ops::Range<usize>, max: &str| clock.get(range).is_some_and(|part| part <= max);
    is_date(date)
        && matches(&CLOCK, clock)
        && is_below(0..2, "23")
        && is_below(3..5, "59")
        && is_below(6..8, "59")
}

/// A Go duration, or a number with a unit such as `2 days`.
fn is_duration(text: &str) -> bool {
    if matches(&GO_DURATION, text) {
        return true;
    }
    let is_unit = |unit: &str| {
        let unit = unit.to_lowercase();
        let exact = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
        let prefixes = [
            "nano", "micro", "milli", "sec", "min", "hour", "day", "week",
        ];
        exact.contains(&unit.as_str()) || prefixes.iter().any(|prefix| unit.starts_with(prefix))
    };
    DURATION_PART.as_ref().is_some_and(|pattern| {
        pattern
            .captures_iter(text)
            .any(|part| part.get(2).is_some_and(|unit| is_unit(unit.as_str())))
    })
}
