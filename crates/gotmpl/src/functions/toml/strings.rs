//! Basic and literal strings, single-line and multiline.

use outrigger_gostd::strconv::quote;

use super::scan::{END, Result, Scanner, is_line_end};
use super::{Edition, ParseError};

pub(super) fn basic_or_multiline(scan: &mut Scanner<'_>) -> Result<String> {
    if scan.accept('"')? {
        if scan.accept('"')? {
            let raw = multiline(scan, '"')?;
            return unescaped(
                scan,
                &without_escaped_line_breaks(without_first_line_break(&raw)),
            );
        }
        return Ok(String::new());
    }
    basic(scan)
}

pub(super) fn raw_or_multiline(scan: &mut Scanner<'_>) -> Result<String> {
    if scan.accept('\'')? {
        if scan.accept('\'')? {
            let raw = multiline(scan, '\'')?;
            return Ok(without_first_line_break(&raw).to_owned());
        }
        return Ok(String::new());
    }
    raw(scan)
}

/// A basic string after its opening quote.
pub(super) fn basic(scan: &mut Scanner<'_>) -> Result<String> {
    let start = scan.at;
    loop {
        match scan.next()? {
            END if scan.is_at_end() => {
                return Err(scan.error_at(END, "unexpected EOF; expected '\"'"));
            }
            c if is_line_end(c) => return Err(line_break(scan, c)),
            '\\' => check_escape(scan, start)?,
            '"' => break,
            _ => {}
        }
    }
    let raw = scan.since(start);
    unescaped(scan, &raw[..raw.len() - 1])
}

pub(super) fn raw(scan: &mut Scanner<'_>) -> Result<String> {
    let start = scan.at;
    loop {
        match scan.next()? {
            END if scan.is_at_end() => {
                return Err(scan.error_at(END, "unexpected EOF; expected \"'\""));
            }
            c if is_line_end(c) => return Err(line_break(scan, c)),
            '\'' => break,
            _ => {}
        }
    }
    let raw = scan.since(start);
    Ok(raw[..raw.len() - 1].to_owned())
}

fn line_break(scan: &Scanner<'_>, c: char) -> ParseError {
    let message = "strings cannot contain newlines";
    if c == '\n' {
        scan.error_before(message)
    } else {
        scan.error(message)
    }
}

/// The text up to the closing quotes, to which one or two more quotes before them belong.
fn multiline(scan: &mut Scanner<'_>, mark: char) -> Result<String> {
    let start = scan.at;
    loop {
        match scan.next()? {
            END if scan.is_at_end() => {
                let (open, quote) = if mark == '"' {
                    ('\'', "\"\"\"")
                } else {
                    ('"', "'''")
                };
                let message = format!("unexpected EOF; expected {open}{quote}{open}");
                return Err(scan.error_at(END, message));
            }
            '\\' if mark == '"' => {
                if is_line_end(scan.peek()?) {
                    scan.next()?;
                } else {
                    check_escape(scan, start)?;
                }
            }
            c if c == mark => {
                let mut count = 1;
                while scan.accept(mark)? {
                    count += 1;
                }
                if count > 5 {
                    let shown = if mark == '"' {
                        "'\"\"\"\"\"\"'"
                    } else {
                        "\"''''''\""
                    };
                    return Err(scan.error(format!("unexpected {shown}")));
                }
                if count >= 3 {
                    let raw = scan.since(start);
                    return Ok(raw[..raw.len() - 3].to_owned());
                }
            }
            _ => {}
        }
    }
}

/// Checks the escape after a backslash in the string that starts at `start`.
fn check_escape(scan: &mut Scanner<'_>, start: usize) -> Result<()> {
    let c = scan.next()?;
    let new = scan.edition == Edition::V1_6;
    let (count, name) = match c {
        'b' | 't' | 'n' | 'f' | 'r' | '"' | '\\' | ' ' | '\t' => return Ok(()),
        'e' if new => return Ok(()),
        'x' if new => (2, "two"),
        'u' => (4, "four"),
        'U' => (8, "eight"),
        c => {
            return Err(scan.error_at(c, format!("invalid escape in string '\\{c}'")));
        }
    };
    for _ in 0..count {
        let digit = scan.next()?;
        if !digit.is_ascii_hexdigit() {
            let shown = quote(scan.since(start));
            let message = format!(
                "expected {name} hexadecimal digits after '\\{c}', but got {shown} instead"
            );
            return Err(scan.error_at(digit, message));
        }
    }
    Ok(())
}

fn unescaped(scan: &Scanner<'_>, raw: &str) -> Result<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let mark = escape.chars().next().unwrap_or_default();
        let digits = match mark {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        out.push(match mark {
            'b' => '\x08',
            't' => '\t',
            'n' => '\n',
            'f' => '\x0c',
            'r' => '\r',
            'e' => '\x1b',
            ' ' | '\t' => return Err(scan.error(format!("invalid escape: '\\{mark}'"))),
            _ if digits > 0 => {
                let code = &escape[1..=digits];
                let c = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                c.ok_or_else(|| {
                    scan.error(format!("Escaped character '\\u{code}' is not valid UTF-8."))
                })?
            }
            c => c,
        });
        rest = escape.get(mark.len_utf8() + digits..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

fn without_first_line_break(text: &str) -> &str {
    text.strip_prefix('\n')
        .or_else(|| text.strip_prefix("\r\n"))
        .unwrap_or(text)
}

/// Removes a backslash at the end of a line and all white space after it.
fn without_escaped_line_breaks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let after = &rest[at + 1..];
        if let Some(second) = after.strip_prefix('\\') {
            out.push_str(&rest[..at + 2]);
            rest = second;
            continue;
        }
        let trimmed = after.trim_start_matches([' ', '\t', '\r', '\n']);
        let skipped = &after[..after.len() - trimmed.len()];
        if skipped.contains('\n') {
            out.push_str(&rest[..at]);
            rest = trimmed;
        } else {
            out.push_str(&rest[..=at]);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}
