//! The named formats of Kubernetes, such as `format.dns1123Label()`.

use std::sync::LazyLock;

use outrigger_apimachinery::syntax;
use outrigger_gostd::regexp::Regexp;
use outrigger_gostd::time::{Location, RFC3339_NANO, Time};

use super::urls::parse_request_uri;
use super::{Function, Implementation, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{Opaque, Value};

type Result<T> = std::result::Result<T, Error>;

/// A named format.
#[derive(Debug)]
pub struct NamedFormat {
    pub(crate) name: &'static str,
    function: &'static str,
    validate: fn(&str) -> Vec<String>,
    /// The length of the regular expression that the cost is computed with.
    pub(crate) regex_size: u64,
}

const fn format(
    function: &'static str,
    name: &'static str,
    validate: fn(&str) -> Vec<String>,
    regex_size: u64,
) -> NamedFormat {
    NamedFormat {
        name,
        function,
        validate,
        regex_size,
    }
}

static FORMATS: [NamedFormat; 13] = [
    format("dns1123Label", "DNS1123Label", syntax::dns1123_label, 30),
    format(
        "dns1123Subdomain",
        "DNS1123Subdomain",
        syntax::dns1123_subdomain,
        60,
    ),
    format("dns1035Label", "DNS1035Label", syntax::dns1035_label, 30),
    format("qualifiedName", "QualifiedName", syntax::label_key, 60),
    format(
        "dns1123LabelPrefix",
        "DNS1123LabelPrefix",
        |text| syntax::dns1123_label(&mask_trailing_dash(text)),
        30,
    ),
    format(
        "dns1123SubdomainPrefix",
        "DNS1123SubdomainPrefix",
        |text| syntax::dns1123_subdomain(&mask_trailing_dash(text)),
        60,
    ),
    format(
        "dns1035LabelPrefix",
        "DNS1035LabelPrefix",
        |text| syntax::dns1035_label(&mask_trailing_dash(text)),
        30,
    ),
    format("labelValue", "LabelValue", syntax::label_value, 40),
    format(
        "uri",
        "URI",
        |text| parse_request_uri(text).err().into_iter().collect(),
        1103,
    ),
    format("uuid", "uuid", uuid, 70),
    format("byte", "byte", byte, 84),
    format("date", "date", date, 71),
    format("datetime", "datetime", datetime, 71),
];

/// Every format has a function without arguments that returns it.
static CONSTANTS: [(&str, Implementation); 13] = [
    ("format.dns1123Label", |_, _| Ok(constant(0))),
    ("format.dns1123Subdomain", |_, _| Ok(constant(1))),
    ("format.dns1035Label", |_, _| Ok(constant(2))),
    ("format.qualifiedName", |_, _| Ok(constant(3))),
    ("format.dns1123LabelPrefix", |_, _| Ok(constant(4))),
    ("format.dns1123SubdomainPrefix", |_, _| Ok(constant(5))),
    ("format.dns1035LabelPrefix", |_, _| Ok(constant(6))),
    ("format.labelValue", |_, _| Ok(constant(7))),
    ("format.uri", |_, _| Ok(constant(8))),
    ("format.uuid", |_, _| Ok(constant(9))),
    ("format.byte", |_, _| Ok(constant(10))),
    ("format.date", |_, _| Ok(constant(11))),
    ("format.datetime", |_, _| Ok(constant(12))),
];

fn constant<'v>(index: usize) -> Value<'v> {
    match FORMATS.get(index) {
        Some(format) => Value::Opaque(Opaque::Format(format)),
        None => Value::Null,
    }
}

pub(super) fn functions() -> Vec<Function> {
    let format = || Type::object("kubernetes.NamedFormat");
    let strings = Type::optional(Type::list(Type::String));
    let mut functions = vec![
        Function::new("validate").member(
            "format-validate",
            [format(), Type::String],
            strings,
            validate,
        ),
        Function::new("format.named").global(
            "format-named",
            [Type::String],
            Type::optional(format()),
            named,
        ),
    ];
    functions.extend(
        CONSTANTS
            .iter()
            .map(|(name, constant)| Function::new(name).global(name, [], format(), *constant)),
    );
    functions
}

fn named<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let name = text(args.first().ok_or(Error::NoSuchOverload)?)?;
    let format = FORMATS.iter().find(|format| format.function == name);
    let format = format.map(|format| Value::Opaque(Opaque::Format(format)));
    Ok(Value::optional(format))
}

fn validate<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let [Value::Opaque(Opaque::Format(format)), value] = args else {
        return Err(Error::NoSuchOverload);
    };
    let errors = (format.validate)(text(value)?);
    let errors = (!errors.is_empty()).then(|| Value::strings(errors.iter().map(String::as_str)));
    Ok(Value::optional(errors))
}

/// A prefix may end with a dash, which stands for what follows.
fn mask_trailing_dash(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => text.to_owned(),
    }
}

fn uuid(text: &str) -> Vec<String> {
    static UUID: LazyLock<Option<Regexp>> = LazyLock::new(|| {
        let pattern = b"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
        Regexp::compile(pattern).ok()
    });
    let is_uuid = UUID
        .as_ref()
        .is_some_and(|regex| regex.is_match(text.as_bytes()));
    unless(is_uuid, "does not match the UUID format")
}

fn byte(text: &str) -> Vec<String> {
    static BASE64: LazyLock<Option<Regexp>> = LazyLock::new(|| {
        let pattern =
            br"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
        Regexp::compile(pattern).ok()
    });
    let is_base64 = BASE64
        .as_ref()
        .is_some_and(|regex| regex.is_match(text.as_bytes()));
    unless(is_base64, "invalid base64")
}

fn date(text: &str) -> Vec<String> {
    let date = Time::parse(b"2006-01-02", text.as_bytes(), &Location::Utc);
    unless(date.is_ok(), "invalid date")
}

fn datetime(text: &str) -> Vec<String> {
    let has_time = text.len() >= 4 && text.to_ascii_lowercase().contains('t');
    let upper = text.to_ascii_uppercase();
    let time = Time::parse(RFC3339_NANO, upper.as_bytes(), &Location::Utc);
    unless(has_time && time.is_ok(), "invalid datetime")
}

fn unless(is_valid: bool, message: &str) -> Vec<String> {
    if is_valid {
        Vec::new()
    } else {
        vec![message.to_owned()]
    }
}
