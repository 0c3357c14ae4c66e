//! URLs taken apart into maps and put together again.

mod escape;
mod parse;

use super::args::{bytes, map};
use super::lists::nil_dereference;
use super::{Outcome, fixed};
use crate::function::{Call, CallError, Function, Ty};
use crate::value::{Map, Value};
use escape::{Part, escaped};
use parse::{Url, UserInfo};

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("urlParse", &[Ty::String], Ty::Map, url_parse),
    fixed("urlJoin", &[Ty::Map], Ty::String, url_join),
];

fn url_parse(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    let url = parse::parse(bytes(args, 0), call.dialect.must_to_functions)
        .map_err(|error| CallError::returned(format!("unable to parse url: {error}")))?;
    let user = url.user.as_ref().map(UserInfo::text).unwrap_or_default();
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

fn url_join(call: &mut Call<'_>, args: &[Value]) -> Outcome {
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
        let parsed = parse::parse(&whole, call.dialect.must_to_functions).map_err(|error| {
            CallError::returned(format!("unable to parse userinfo in dict: {error}"))
        })?;
        url.user = parsed.user;
    }
    Ok(Value::str(joined(&url)))
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

fn joined(url: &Url) -> Vec<u8> {
    let mut out = Vec::new();
    if !url.scheme.is_empty() {
        out.extend_from_slice(&url.scheme);
        out.push(b':');
    }
    if url.opaque.is_empty() {
        write_authority(&mut out, url);
        let path = if url.path == b"*" {
            url.path.clone()
        } else {
            escaped(&url.path, Part::Path)
        };
        if !path.is_empty() && !path.starts_with(b"/") && !url.host.is_empty() {
            out.push(b'/');
        }
        let first_segment = path.split(|b| *b == b'/').next().unwrap_or_default();
        if out.is_empty() && first_segment.contains(&b':') {
            // A colon in the first segment would look like a scheme.
            out.extend_from_slice(b"./");
        }
        out.extend_from_slice(&path);
    } else {
        out.extend_from_slice(&url.opaque);
    }
    if !url.query.is_empty() {
        out.push(b'?');
        out.extend_from_slice(&url.query);
    }
    if !url.fragment.is_empty() {
        out.push(b'#');
        out.extend_from_slice(&escaped(&url.fragment, Part::Fragment));
    }
    out
}

fn write_authority(out: &mut Vec<u8>, url: &Url) {
    if url.scheme.is_empty() && url.host.is_empty() && url.user.is_none() {
        return;
    }
    if !url.host.is_empty() || !url.path.is_empty() || url.user.is_some() {
        out.extend_from_slice(b"//");
    }
    if let Some(user) = &url.user {
        out.extend_from_slice(&user.text());
        out.push(b'@');
    }
    out.extend_from_slice(&escaped(&url.host, Part::Host));
}
