//! `net/url`: `url.Parse`, `URL.String` and `url.QueryEscape`.

mod escape;

use std::net::Ipv6Addr;

use memchr::{memchr, memmem, memrchr};

use crate::strconv::{quote, quote_bytes};
use escape::{Encoding, escape, unescape};

/// `url.Error` of `url.Parse`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {source}", quote_bytes(.url))]
pub struct Error {
    url: Vec<u8>,
    source: ParseError,
}

/// Why a URL does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    #[error("missing protocol scheme")]
    MissingScheme,
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    #[error("net/url: invalid userinfo")]
    InvalidUserinfo,
    #[error("invalid port {} after host", quote_bytes(.0))]
    InvalidPort(Vec<u8>),
    #[error("invalid IP-literal")]
    InvalidIpLiteral,
    #[error("missing ']' in host")]
    MissingBracket,
    #[error("invalid host: ParseAddr({}): unable to parse IP", quote_bytes(.0))]
    InvalidAddress(Vec<u8>),
    #[error("invalid character {} in host name", quote(&.0.to_string()))]
    InvalidHostCharacter(char),
    #[error("invalid URL escape {}", quote(.0))]
    InvalidEscape(String),
}

/// `url.QueryEscape`
pub fn query_escape(text: &[u8]) -> Vec<u8> {
    escape(text, Encoding::QueryComponent)
}

/// `url.URL`
#[derive(Debug, Default)]
pub struct Url {
    pub scheme: Vec<u8>,
    pub opaque: Vec<u8>,
    pub user: Option<Userinfo>,
    pub host: Vec<u8>,
    pub path: Vec<u8>,
    pub query: Vec<u8>,
    pub fragment: Vec<u8>,
}

/// `url.Userinfo`
#[derive(Debug)]
pub struct Userinfo {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl Userinfo {
    /// `Userinfo.String`
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = escape(&self.name, Encoding::UserPassword);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend_from_slice(&escape(password, Encoding::UserPassword));
        }
        out
    }
}

impl Url {
    /// `URL.Hostname`
    pub fn hostname(&self) -> &[u8] {
        let host = match memrchr(b':', &self.host) {
            Some(colon) if is_optional_port(&self.host[colon..]) => &self.host[..colon],
            _ => &self.host,
        };
        match host {
            [b'[', inner @ .., b']'] => inner,
            host => host,
        }
    }

    /// `URL.Port`
    pub fn port(&self) -> &[u8] {
        match memrchr(b':', &self.host) {
            Some(colon) if is_optional_port(&self.host[colon..]) => &self.host[colon + 1..],
            _ => b"",
        }
    }

    /// `URL.EscapedPath` of a path in its default encoding.
    pub fn escaped_path(&self) -> Vec<u8> {
        if self.path == b"*" {
            return self.path.clone();
        }
        escape(&self.path, Encoding::Path)
    }

    /// `URL.String`
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.append_authority(&mut out);
            let path = if self.path == b"*" {
                self.path.clone()
            } else {
                escape(&self.path, Encoding::Path)
            };
            if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
                out.push(b'/');
            }
            let first_segment = path.split(|b| *b == b'/').next().unwrap_or_default();
            if out.is_empty() && first_segment.contains(&b':') {
                // A colon in the first segment would look like a scheme.
                out.extend_from_slice(b"./");
            }
            out.extend_from_slice(&path);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend_from_slice(&escape(&self.fragment, Encoding::Fragment));
        }
        out
    }

    fn append_authority(&self, out: &mut Vec<u8>) {
        if self.scheme.is_empty() && self.host.is_empty() && self.user.is_none() {
            return;
        }
        if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
            out.extend_from_slice(b"//");
        }
        if let Some(user) = &self.user {
            out.extend_from_slice(&user.to_bytes());
            out.push(b'@');
        }
        out.extend_from_slice(&escape(&self.host, Encoding::Host));
    }
}

/// `url.Parse`. Since Go 1.25 hosts are checked strictly (`strict_host`).
pub fn parse(text: &[u8], strict_host: bool) -> Result<Url, Error> {
    let (before, fragment) = match memchr(b'#', text) {
        Some(mark) => (&text[..mark], &text[mark + 1..]),
        None => (text, &text[text.len()..]),
    };
    let failed = |url: &[u8], source: ParseError| Error {
        url: url.to_vec(),
        source,
    };
    let mut url =
        parse_before_fragment(before, strict_host).map_err(|error| failed(before, error))?;
    url.fragment = unescape(fragment, Encoding::Fragment).map_err(|error| failed(text, error))?;
    Ok(url)
}

fn parse_before_fragment(text: &[u8], strict_host: bool) -> Result<Url, ParseError> {
    if text.iter().any(|b| *b < b' ' || *b == 0x7f) {
        return Err(ParseError::ControlCharacter);
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
            return Err(ParseError::ColonInFirstSegment);
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
    url.path = unescape(rest, Encoding::Path)?;
    Ok(url)
}

fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), ParseError> {
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(ParseError::MissingScheme),
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

fn parse_authority(
    text: &[u8],
    rules: HostRules,
) -> Result<(Option<Userinfo>, Vec<u8>), ParseError> {
    let Some(at) = memrchr(b'@', text) else {
        return Ok((None, parse_host(text, rules)?));
    };
    let host = parse_host(&text[at + 1..], rules)?;
    let user = &text[..at];
    let is_allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(b);
    if !user.iter().all(is_allowed) {
        return Err(ParseError::InvalidUserinfo);
    }
    let (name, password) = match memchr(b':', user) {
        Some(colon) => (&user[..colon], Some(&user[colon + 1..])),
        None => (user, None),
    };
    let name = unescape(name, Encoding::UserPassword)?;
    let password = password
        .map(|password| unescape(password, Encoding::UserPassword))
        .transpose()?;
    Ok((Some(Userinfo { name, password }), host))
}

fn is_optional_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn check_port(text: &[u8]) -> Result<(), ParseError> {
    if is_optional_port(text) {
        return Ok(());
    }
    Err(ParseError::InvalidPort(text.to_vec()))
}

fn parse_host(host: &[u8], rules: HostRules) -> Result<Vec<u8>, ParseError> {
    if rules.strict && memrchr(b'[', host).is_some_and(|bracket| bracket > 0) {
        return Err(ParseError::InvalidIpLiteral);
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
    unescape(host, Encoding::Host)
}

/// An IPv6 address, perhaps with a zone and a port.
fn parse_bracketed_host(host: &[u8], strict: bool) -> Result<Vec<u8>, ParseError> {
    let Some(closing) = memrchr(b']', host) else {
        return Err(ParseError::MissingBracket);
    };
    check_port(&host[closing + 1..])?;
    let address = &host[1..closing];
    let address = match memmem::find(address, b"%25") {
        Some(zone) => [
            unescape(&address[..zone], Encoding::Host)?,
            unescape(&address[zone..], Encoding::Zone)?,
        ]
        .concat(),
        None => unescape(address, Encoding::Host)?,
    };
    if strict {
        check_address(&address)?;
    }
    let port = unescape(&host[closing + 1..], Encoding::Host)?;
    Ok([b"[", &address[..], b"]", &port[..]].concat())
}

fn check_address(address: &[u8]) -> Result<(), ParseError> {
    let text = String::from_utf8_lossy(address);
    let without_zone = text.split_once('%').map_or(&*text, |(before, _)| before);
    if without_zone.parse::<Ipv6Addr>().is_ok() {
        return Ok(());
    }
    if without_zone.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err(ParseError::InvalidIpLiteral);
    }
    Err(ParseError::InvalidAddress(address.to_vec()))
}
