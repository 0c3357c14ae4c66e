//! Reading a URL, like Go's `url.Parse`.

use std::net::Ipv6Addr;

use memchr::{memchr, memmem, memrchr};

use super::escape::{Part, escaped, unescaped};
use crate::fmt::quote::quote;

#[derive(Debug, Default)]
pub(super) struct Url {
    pub(super) scheme: Vec<u8>,
    pub(super) opaque: Vec<u8>,
    pub(super) user: Option<UserInfo>,
    pub(super) host: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) query: Vec<u8>,
    pub(super) fragment: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct UserInfo {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl UserInfo {
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = escaped(&self.name, Part::User);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend_from_slice(&escaped(password, Part::User));
        }
        out
    }
}

impl Url {
    /// The host without port and brackets.
    pub(super) fn hostname(&self) -> &[u8] {
        let host = match memrchr(b':', &self.host) {
            Some(colon) if is_optional_port(&self.host[colon..]) => &self.host[..colon],
            _ => &self.host,
        };
        match host {
            [b'[', inner @ .., b']'] => inner,
            host => host,
        }
    }
}

/// Reads a URL. Newer Go releases are stricter about hosts (`strict_host`).
pub(super) fn parse(text: &[u8], strict_host: bool) -> Result<Url, String> {
    let (before, fragment) = match memchr(b'#', text) {
        Some(mark) => (&text[..mark], &text[mark + 1..]),
        None => (text, &text[text.len()..]),
    };
    let failed = |text: &[u8], error: &str| {
        let shown = quote(text, false);
        format!("parse {}: {error}", String::from_utf8_lossy(&shown))
    };
    let mut url =
        parse_before_fragment(before, strict_host).map_err(|error| failed(before, &error))?;
    url.fragment = unescaped(fragment, Part::Fragment).map_err(|error| failed(text, &error))?;
    Ok(url)
}

fn parse_before_fragment(text: &[u8], strict_host: bool) -> Result<Url, String> {
    if text.iter().any(|b| *b < b' ' || *b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    let mut url = Url::default();
    if text == b"*" {
        url.path = text.to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = match memchr(b'?', rest) {
        Some(mark) => (&rest[..mark], &rest[mark + 1..]),
        None => (rest, &rest[rest.len()..]),
    };
    url.query = query.to_vec();
    if !rest.starts_with(b"/") {
        if !scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        let segment = rest.split(|b| *b == b'/').next().unwrap_or_default();
        if segment.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let has_authority =
        rest.starts_with(b"//") && (!scheme.is_empty() || !rest.starts_with(b"///"));
    if has_authority {
        let authority = &rest[2..];
        let end = memchr(b'/', authority).unwrap_or(authority.len());
        rest = &authority[end..];
        let is_web = matches!(&url.scheme[..], b"http" | b"https");
        let rules = HostRules {
            strict: strict_host,
            is_web,
        };
        (url.user, url.host) = parse_authority(&authority[..end], rules)?;
    }
    url.path = unescaped(rest, Part::Path)?;
    Ok(url)
}

fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok((b"", text))
}

#[derive(Clone, Copy)]
struct HostRules {
    strict: bool,
    /// `http` and `https` allow one colon only.
    is_web: bool,
}

fn parse_authority(text: &[u8], rules: HostRules) -> Result<(Option<UserInfo>, Vec<u8>), String> {
    let Some(at) = memrchr(b'@', text) else {
        return Ok((None, parse_host(text, rules)?));
    };
    let host = parse_host(&text[at + 1..], rules)?;
    let user = &text[..at];
    let is_allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(b);
    if !user.iter().all(is_allowed) {
        return Err("net/url: invalid userinfo".into());
    }
    let (name, password) = match memchr(b':', user) {
        Some(colon) => (&user[..colon], Some(&user[colon + 1..])),
        None => (user, None),
    };
    let name = unescaped(name, Part::User)?;
    let password = password
        .map(|password| unescaped(password, Part::User))
        .transpose()?;
    Ok((Some(UserInfo { name, password }), host))
}

fn is_optional_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn check_port(text: &[u8]) -> Result<(), String> {
    if is_optional_port(text) {
        return Ok(());
    }
    let shown = quote(text, false);
    Err(format!(
        "invalid port {} after host",
        String::from_utf8_lossy(&shown)
    ))
}

fn parse_host(host: &[u8], rules: HostRules) -> Result<Vec<u8>, String> {
    if rules.strict && memrchr(b'[', host).is_some_and(|bracket| bracket > 0) {
        return Err("invalid IP-literal".into());
    }
    if host.starts_with(b"[") {
        return parse_bracketed_host(host, rules.strict);
    }
    let last_colon = memrchr(b':', host);
    let colon = if rules.strict && rules.is_web {
        memchr(b':', host)
    } else {
        last_colon
    };
    if let Some(colon) = colon {
        check_port(&host[colon..])?;
    }
    unescaped(host, Part::Host)
}

/// An IPv6 address, perhaps with a zone and a port.
fn parse_bracketed_host(host: &[u8], strict: bool) -> Result<Vec<u8>, String> {
    let Some(closing) = memrchr(b']', host) else {
        return Err("missing ']' in host".into());
    };
    check_port(&host[closing + 1..])?;
    let address = &host[1..closing];
    let address = match memmem::find(address, b"%25") {
        Some(zone) => [
            unescaped(&address[..zone], Part::Host)?,
            unescaped(&address[zone..], Part::Zone)?,
        ]
        .concat(),
        None => unescaped(address, Part::Host)?,
    };
    if strict {
        check_address(&address)?;
    }
    let port = unescaped(&host[closing + 1..], Part::Host)?;
    Ok([b"[", &address[..], b"]", &port[..]].concat())
}

fn check_address(address: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(address);
    let without_zone = text.split_once('%').map_or(&*text, |(before, _)| before);
    if without_zone.parse::<Ipv6Addr>().is_ok() {
        return Ok(());
    }
    if without_zone.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".into());
    }
    let shown = quote(address, false);
    Err(format!(
        "invalid host: ParseAddr({}): unable to parse IP",
        String::from_utf8_lossy(&shown)
    ))
}
