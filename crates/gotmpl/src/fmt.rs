//! Placeholder until Go's fmt is merged.
use crate::value::Value;

pub fn quote(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out.into_bytes()
}
pub(crate) fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(first) = bytes.first() else {
        return ('\u{fffd}', 0);
    };
    if first.is_ascii() {
        return (char::from(*first), 1);
    }
    let take = bytes.len().min(4);
    let text = match std::str::from_utf8(&bytes[..take]) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
    };
    text.chars()
        .next()
        .map_or(('\u{fffd}', 1), |c| (c, c.len_utf8()))
}
pub(crate) fn is_print(c: char) -> bool {
    !c.is_control()
}
pub(crate) fn is_letter(c: char) -> bool {
    c.is_alphabetic()
}
pub(crate) fn is_digit(c: char) -> bool {
    c.is_numeric()
}
pub fn write_display(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Str(s) => out.extend_from_slice(s.as_bytes()),
        Value::Nil => out.extend_from_slice(b"<nil>"),
        Value::Int(n) | Value::Int64(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::Uint8(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::Uint64(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::Bool(b) => out.extend_from_slice(b.to_string().as_bytes()),
        Value::Float(x) => out.extend_from_slice(x.to_string().as_bytes()),
        other => out.extend_from_slice(format!("{other:?}").as_bytes()),
    }
}
pub fn sprint(args: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for arg in args {
        write_display(&mut out, arg);
    }
    out
}
pub fn sprintln(args: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        write_display(&mut out, arg);
    }
    out.push(b'\n');
    out
}
pub fn sprintf(_format: &[u8], args: &[Value]) -> Vec<u8> {
    sprint(args)
}
