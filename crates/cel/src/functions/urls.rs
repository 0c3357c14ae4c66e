//! URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_gostd::strconv::quote;
use outrigger_gostd::url::{self, Url};

use super::{Function, Implementation, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::map::Key;
use crate::value::{Map, Opaque, Text, Value};

type Result<T> = std::result::Result<T, Error>;

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, String};
    let url = || Type::object("kubernetes.URL");
    let query = Type::map(String, Type::list(String));
    let part = |name, id, implementation: Implementation| {
        Function::new(name).member(id, [url()], String, implementation)
    };
    vec![
        Function::new("url").global("string_to_url", [String], url(), to_url),
        Function::new("isURL").global("is_url_string", [String], Bool, |_, args| {
            let text = text(args.first().ok_or(Error::NoSuchOverload)?)?;
            Ok(Value::Bool(parse_request_uri(text).is_ok()))
        }),
        part("getScheme", "url_get_scheme", |_, args| {
            Ok(string(&only(args)?.scheme))
        }),
        part("getHost", "url_get_host", |_, args| {
            Ok(string(&only(args)?.host))
        }),
        part("getHostname", "url_get_hostname", |_, args| {
            Ok(string(only(args)?.hostname()))
        }),
        part("getPort", "url_get_port", |_, args| {
            Ok(string(only(args)?.port()))
        }),
        part("getEscapedPath", "url_get_escaped_path", |_, args| {
            Ok(string(&only(args)?.escaped_path()))
        }),
        Function::new("getQuery").member("url_get_query", [url()], query, get_query),
    ]
}

fn only<'a>(args: &'a [Value<'_>]) -> Result<&'a Url> {
    match args {
        [Value::Opaque(Opaque::Url(url))] => Ok(url),
        _ => Err(Error::NoSuchOverload),
    }
}

fn string<'v>(bytes: &[u8]) -> Value<'v> {
    Value::string(String::from_utf8_lossy(bytes).into_owned())
}

/// `url.ParseRequestURI`: an absolute URL or path, and no fragment.
pub(super) fn parse_request_uri(text: &str) -> std::result::Result<(), String> {
    let failed = |reason: &str| Err(format!("parse {}: {reason}", quote(text)));
    if text.is_empty() {
        return failed("empty url");
    }
    let bytes = text.as_bytes();
    // A fragment is no separate part of a request URI.
    let before = text.split('#').next().unwrap_or_default();
    let parsed = match url::parse(before.as_bytes(), true) {
        Ok(parsed) => parsed,
        Err(error) => return Err(error.to_string()),
    };
    let is_rooted = text == "*" || text.starts_with('/');
    if parsed.scheme.is_empty() && !is_rooted {
        return failed("invalid URI for request");
    }
    if bytes.iter().any(|b| *b < b' ' || *b == 0x7f) {
        return failed("net/url: invalid control character in URL");
    }
    Ok(())
}

fn to_url<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = text(args.first().ok_or(Error::NoSuchOverload)?)?;
    let failed = |error: String| {
        Error::function(format!(
            "URL parse error during conversion from string: {error}"
        ))
    };
    parse_request_uri(text).map_err(failed)?;
    let url = url::parse(text.as_bytes(), true).map_err(|error| failed(error.to_string()))?;
    Ok(Value::Opaque(Opaque::Url(Arc::new(url))))
}

fn get_query<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let url = only(args)?;
    meter.copy(url.query.len())?;
    let mut values: BTreeMap<String, Vec<Value<'v>>> = BTreeMap::new();
    for pair in url.query.split(|b| *b == b'&') {
        if pair.is_empty() || pair.contains(&b';') {
            continue;
        }
        let mut parts = pair.splitn(2, |b| *b == b'=');
        let key = parts.next().and_then(query_unescape);
        let value = parts.next().map_or(Some(String::new()), query_unescape);
        if let (Some(key), Some(value)) = (key, value) {
            values.entry(key).or_default().push(Value::string(value));
        }
    }
    let entries = values.into_iter().map(|(key, values)| {
        let key = Key::String(Text::Shared(key.into()));
        (key, Value::list(values))
    });
    Ok(Value::Map(Map::Entries(Arc::new(entries.collect()))))
}

/// `url.QueryUnescape`
fn query_unescape(text: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let mut digit = || bytes.next().and_then(|b| char::from(*b).to_digit(16));
                let (high, low) = (digit()?, digit()?);
                let byte = high.wrapping_mul(16).wrapping_add(low);
                out.push(u8::try_from(byte).ok()?);
            }
            other => out.push(*other),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}
