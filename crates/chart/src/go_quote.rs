//! Text in double quotes as Go's `%q` prints it.

use std::fmt::Write;

pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        escape(&mut out, c, '"');
    }
    out.push('"');
    out
}

/// One character in single quotes.
pub(crate) fn quote_char(c: char) -> String {
    let mut out = String::from("'");
    escape(&mut out, c, '\'');
    out.push('\'');
    out
}

fn escape(out: &mut String, c: char, quote: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{b}' => out.push_str("\\v"),
        '\u{c}' => out.push_str("\\f"),
        c if c == quote => {
            out.push('\\');
            out.push(c);
        }
        c if c < ' ' || c == '\u{7f}' => {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        }
        c if !crate::metadata::is_printable(c) => {
            let code = u32::from(c);
            let _ = if code > 0xffff {
                write!(out, "\\U{code:08x}")
            } else {
                write!(out, "\\u{code:04x}")
            };
        }
        c => out.push(c),
    }
}
