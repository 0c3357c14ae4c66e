//! The lines that make up nearly all of every document: `key: value`, at once and without tokens.

use super::Scanner;

/// What follows the `:` of a key that was read at once.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// A plain scalar that ends with its line.
    Scalar(&'a str),
    /// Something else, which tokens must tell.
    Other,
}

impl<'a> Scanner<'a, false> {
    /// Reads a key and its `:` if a plain key stands at the indentation of the current block mapping.
    pub(crate) fn read_key(&mut self) -> Option<&'a str> {
        if self.in_flow() || !self.simple_key_allowed || self.has_tokens() {
            return None;
        }
        self.skip_empty_lines();
        if !self.is_at_indent() {
            return None;
        }
        let rest = &self.bytes[self.position..];
        if !rest.first().is_some_and(|&byte| starts_key(byte)) {
            return None;
        }
        let length = rest.iter().position(|&byte| !continues_key(byte))?;
        if rest[length] != b':'
            || !matches!(rest.get(length + 1), Some(b' ' | b'\n'))
            || length > super::MAX_SIMPLE_KEY
        {
            return None;
        }
        let key = &self.text[self.position..self.position + length];
        self.position += length + 1;
        self.simple_key_allowed = false;
        Some(key)
    }

    /// Reads what stands behind the `:` if it is a plain scalar in the same line and nothing more.
    pub(crate) fn read_value(&mut self) -> Entry<'a> {
        let rest = &self.bytes[self.position..];
        let Some(start) = rest.iter().position(|&byte| byte != b' ') else {
            return Entry::Other;
        };
        if start == 0 || !starts_value(rest[start]) {
            return Entry::Other;
        }
        let mut end = start;
        while let Some(&byte) = rest.get(end) {
            match byte {
                b'\n' => break,
                b'\t' | b'#' => return Entry::Other,
                b':' if matches!(rest.get(end + 1), None | Some(b' ' | b'\n')) => {
                    return Entry::Other;
                }
                _ => end += 1,
            }
        }
        if rest[end - 1] == b' ' || !self.is_shallow_after(self.position + end) {
            return Entry::Other;
        }
        let value = &self.text[self.position + start..self.position + end];
        self.position += end;
        self.skip_empty_lines();
        self.simple_key_allowed = true;
        Entry::Scalar(value)
    }

    /// Whether what follows the line break at `end` is not deeper than the current mapping, so that a plain
    /// scalar before it is complete.
    fn is_shallow_after(&self, end: usize) -> bool {
        let mut at = end;
        while self.bytes.get(at) == Some(&b'\n') {
            let start = at + 1;
            at = start;
            while self.bytes.get(at) == Some(&b' ') {
                at += 1;
            }
            match self.bytes.get(at) {
                Some(b'\n') => {}
                Some(b'\t') => return false,
                Some(b'#') | None => return true,
                Some(_) => {
                    return isize::try_from(at - start).is_ok_and(|depth| depth <= self.indent);
                }
            }
        }
        true
    }

    /// Moves to the next character that is not part of a space, a line break or a comment.
    fn skip_empty_lines(&mut self) {
        while let Some(&byte) = self.bytes.get(self.position) {
            match byte {
                b' ' => self.position += 1,
                b'\n' => {
                    self.position += 1;
                    self.line += 1;
                    self.line_start = self.position;
                }
                b'#' => {
                    let rest = &self.bytes[self.position..];
                    self.position += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => break,
            }
        }
    }
}

fn starts_key(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'/' | b'$')
}

fn continues_key(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'/' | b'$' | b'-' | b'.')
}

fn starts_value(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'/' | b'$' | b'.' | b'(' | b'^' | b'=')
        || byte >= 0x80
}

/// What line breaks between words become: the first one alone is a space, more of them stay without the first.
pub(super) fn folded<'s>(first: &'s str, rest: &'s str) -> std::borrow::Cow<'s, str> {
    match first {
        "" => rest.into(),
        "\n" if rest.is_empty() => " ".into(),
        "\n" => rest.into(),
        _ => format!("{first}{rest}").into(),
    }
}
