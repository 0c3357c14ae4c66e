//! `urlParse` and `urlJoin`: URLs to dicts and back.

use outrigger_gostd::url::{self, Url, Userinfo};

use super::args::{bytes, map};
use super::lists::nil_dereference;
use super::{CallResult, fixed};
use crate::function::{Call, CallError, Function, Ty};
use crate::value::{Map, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("urlParse", &[Ty::String], Ty::Map, url_parse),
    fixed("urlJoin", &[Ty::Map], Ty::String, url_join),
];

fn url_parse(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let url = url::parse(bytes(args, 0), call.dialect.must_to_functions)
        .map_err(|error| CallError::returned(format!("unable to parse url: {error}")))?;
    let user = url
        .user
        .as_ref()
        .map(Userinfo::to_bytes)
        .unwrap_or_default();
    let hostname = url.hostname().to_vec();
    let entries = [
        ("fragment", url.fragment),
        ("host", url.host),
        ("hostname", hostname),
        ("opaque", url.opaque),
        ("path", url.path),
        ("query", url.query),
        ("scheme", url.scheme),
        ("userinfo", user),
    ];
    let entries = entries
        .into_iter()
        .map(|(key, text)| (key.into(), Value::str(text)));
    Ok(Value::map(entries.collect()))
}

fn url_join(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let map = map(args, 0);
    let mut url = Url {
        scheme: text_of(&map, "scheme")?,
        host: text_of(&map, "host")?,
        path: text_of(&map, "path")?,
        query: text_of(&map, "query")?,
        opaque: text_of(&map, "opaque")?,
        fragment: text_of(&map, "fragment")?,
        user: None,
    };
    let user = text_of(&map, "userinfo")?;
    if !user.is_empty() {
        let whole = [b"proto://", &user[..], b"@host"].concat();
        let parsed = url::parse(&whole, call.dialect.must_to_functions).map_err(|error| {
            CallError::returned(format!("unable to parse userinfo in dict: {error}"))
        })?;
        url.user = parsed.user;
    }
    Ok(Value::str(url.to_bytes()))
}

fn text_of(map: &Map, key: &str) -> Result<Vec<u8>, CallError> {
    match map.get(key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Str(text)) => Ok(text.as_bytes().to_vec()),
        Some(Value::Nil) => Err(nil_dereference()),
        Some(other) => Err(CallError::returned(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind().name()
        ))),
    }
}
