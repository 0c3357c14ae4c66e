//! `html`, `js` and `urlquery`.

use std::borrow::Cow;

use outrigger_gostd::unicode::{RUNE_ERROR, decode_rune, is_print};

use crate::fmt;
use crate::function::{Call, CallResult};
use crate::value::Value;

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
pub(super) fn html(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut out = Vec::new();
    for byte in text(args).iter() {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(*other),
        }
    }
    Ok(Value::str(out))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
pub(super) fn js(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = text(args);
    let mut rest: &[u8] = &text;
    let mut out = Vec::new();
    while let Some(first) = rest.first() {
        let (c, length) = decode_rune(rest).unwrap_or((RUNE_ERROR, 1));
        match first {
            b'\\' => out.extend_from_slice(br"\\"),
            b'\'' => out.extend_from_slice(br"\'"),
            b'"' => out.extend_from_slice(br#"\""#),
            b'<' | b'>' | b'&' | b'=' | 0..b' ' => push_unicode(&mut out, c),
            0x80.. if !is_print(c) => push_unicode(&mut out, c),
            _ => out.extend_from_slice(&rest[..length]),
        }
        rest = &rest[length..];
    }
    Ok(Value::str(out))
}

fn push_unicode(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
pub(super) fn urlquery(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut out = Vec::new();
    for byte in text(args).iter() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
    Ok(Value::str(out))
}

/// `evalArgs`: the arguments as `print` formats them; a missing value is `<no value>`.
fn text(args: &[Value]) -> Cow<'_, [u8]> {
    if let [Value::Str(text)] = args {
        return Cow::Borrowed(text.as_bytes());
    }
    let shown = args.iter().map(|arg| match arg {
        Value::Nil => Value::str("<no value>"),
        other => other.clone(),
    });
    Cow::Owned(fmt::sprint(&shown.collect::<Vec<_>>()))
}
