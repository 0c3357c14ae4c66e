//! The fast path for common lines of block collections, which are scanned without tokens.
//!
//! Each function consumes the next content if it has one of the common forms, and leaves the scanner in the state that the
//! tokens would have. Otherwise it consumes nothing.

use std::borrow::Cow;

use super::{MAX_DEPTH, MAX_SIMPLE_KEY, Scanner};
use crate::error::Error;

/// The next content of a block mapping.
#[derive(Debug)]
pub(crate) enum KeyLine<'a> {
    /// A plain key; its `:` is consumed as well.
    Key(&'a str),
    /// The mapping ends, and is closed.
    End,
    Unknown,
}

/// The next content of a block sequence.
#[derive(Debug)]
pub(crate) enum ItemLine<'a> {
    /// A dash and the content after it.
    Item(Content<'a>),
    /// The sequence ends, and is closed if it has an indentation of its own.
    End,
    Unknown,
}

/// The content after a `:` or a dash.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    Plain(Cow<'a, str>),
    /// A quoted or block scalar.
    Quoted(Cow<'a, str>),
    Empty,
    /// A block mapping, which has been opened.
    Mapping,
    /// A block sequence, which has been opened.
    Sequence,
    /// A sequence at the indentation of the enclosing mapping.
    Indentless,
    Unknown,
}

/// Byte classes.
const KEY_START: u8 = 1;
const KEY: u8 = 2;
const VALUE_START: u8 = 4;
/// May end a plain scalar.
const STOP: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let class = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'/' | b'$' => KEY_START | KEY | VALUE_START,
            b'0'..=b'9' | b'.' => KEY | VALUE_START,
            b'-' => KEY,
            b'(' | b')' | b'^' | b'=' | b'+' | b'~' | b'<' | b'\\' | b';' | 0x80.. => VALUE_START,
            b'\n' | b'\t' | b'#' | b':' => STOP,
            _ => 0,
        };
        classes[byte] = class;
        byte += 1;
    }
    classes
};

fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

impl<'a, const EXACT: bool> Scanner<'a, EXACT> {
    pub(crate) fn read_key(&mut self) -> KeyLine<'a> {
        if !self.is_at_line() {
            return KeyLine::Unknown;
        }
        let column = self.signed_column();
        if column < self.indent && !self.is_end(0) {
            self.close();
            return KeyLine::End;
        }
        if column != self.indent {
            return KeyLine::Unknown;
        }
        match self.key_length(self.position) {
            Some(length) => {
                let key = &self.text[self.position..self.position + length];
                self.position += length + 1;
                self.simple_key_allowed = false;
                KeyLine::Key(key)
            }
            None => KeyLine::Unknown,
        }
    }

    /// Scans the content after the `:` of a key from [`read_key`](Self::read_key).
    pub(crate) fn read_value(&mut self) -> Result<Content<'a>, Error> {
        let start = self.after_spaces(self.position);
        match self.bytes.get(start) {
            Some(b'\n' | b'#') => {
                self.skip_empty_lines();
                self.read_nested()
            }
            Some(&byte) => match self.read_text(start, byte)? {
                Content::Unknown if is(byte, VALUE_START) => {
                    self.position = start;
                    self.scan_plain().map(Content::Plain)
                }
                content => Ok(content),
            },
            None => Ok(Content::Unknown),
        }
    }

    /// Scans the next item of a block sequence.
    pub(crate) fn read_item(&mut self, is_indentless: bool) -> Result<ItemLine<'a>, Error> {
        if !self.is_at_line() || self.is_end(0) {
            return Ok(ItemLine::Unknown);
        }
        let column = self.signed_column();
        if column < self.indent {
            if !is_indentless {
                self.close();
            }
            return Ok(ItemLine::End);
        }
        if column > self.indent {
            return Ok(ItemLine::Unknown);
        }
        if !self.is_dash() {
            let is_over = is_indentless && is(self.at(0), KEY_START);
            return Ok(if is_over {
                ItemLine::End
            } else {
                ItemLine::Unknown
            });
        }
        self.position += 1;
        let start = self.after_spaces(self.position);
        if self.key_length(start).is_some() {
            self.position = start;
            self.open()?;
            return Ok(ItemLine::Item(Content::Mapping));
        }
        let content = match self.bytes.get(start) {
            // A quoted scalar may be a key, unless the line ends with it.
            Some(b'"' | b'\'') if !self.is_quoted_line(start) => Content::Unknown,
            Some(&byte) => self.read_text(start, byte)?,
            None => Content::Unknown,
        };
        Ok(ItemLine::Item(content))
    }

    /// Whether the scanner is at the start of a line in a block collection, with no pending tokens.
    fn is_at_line(&mut self) -> bool {
        if EXACT || self.in_flow() || !self.tokens.is_empty() || self.simple_keys[0].possible {
            return false;
        }
        self.skip_empty_lines();
        self.simple_key_allowed
    }

    fn signed_column(&self) -> isize {
        isize::try_from(self.column()).unwrap_or(isize::MAX)
    }

    fn after_spaces(&self, mut at: usize) -> usize {
        while self.bytes.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    }

    fn is_dash(&self) -> bool {
        self.at(0) == b'-' && matches!(self.at(1), b' ' | b'\n')
    }

    /// The length of a plain key of ordinary characters before a `:`.
    fn key_length(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        if !is(*rest.first()?, KEY_START) {
            return None;
        }
        let length = rest.iter().position(|&byte| !is(byte, KEY))?;
        let is_key = rest[length] == b':'
            && matches!(rest.get(length + 1), Some(b' ' | b'\n'))
            && length <= MAX_SIMPLE_KEY;
        is_key.then_some(length)
    }

    /// Opens a block collection at the current column.
    fn open(&mut self) -> Result<(), Error> {
        self.indents.push(self.indent);
        self.indent = self.signed_column();
        if self.indents.len() > MAX_DEPTH {
            return Err(self.error("exceeded max depth of 10000"));
        }
        self.simple_key_allowed = true;
        Ok(())
    }

    fn close(&mut self) {
        self.indent = self.indents.pop().unwrap_or(-1);
    }

    /// The value of a key at the end of its line.
    fn read_nested(&mut self) -> Result<Content<'a>, Error> {
        let column = self.signed_column();
        if self.is_end(0) {
            return Ok(Content::Unknown);
        }
        if column < self.indent {
            return Ok(Content::Empty);
        }
        if self.is_dash() {
            if column == self.indent {
                return Ok(Content::Indentless);
            }
            self.open()?;
            return Ok(Content::Sequence);
        }
        if column == self.indent {
            let is_key = is(self.at(0), KEY_START);
            return Ok(if is_key {
                Content::Empty
            } else {
                Content::Unknown
            });
        }
        if self.key_length(self.position).is_some() {
            self.open()?;
            return Ok(Content::Mapping);
        }
        Ok(Content::Unknown)
    }

    /// A scalar that starts with `byte` at `start`, if it is simple.
    fn read_text(&mut self, start: usize, byte: u8) -> Result<Content<'a>, Error> {
        match byte {
            b'"' | b'\'' => {
                let before = std::mem::replace(&mut self.position, start + 1);
                if let Some(text) = self.scan_quoted_in_line(byte) {
                    self.simple_key_allowed = false;
                    return Ok(Content::Quoted(Cow::Borrowed(text)));
                }
                self.position = before;
                Ok(Content::Unknown)
            }
            b'|' | b'>' => {
                self.position = start;
                self.simple_key_allowed = true;
                self.scan_block_scalar(byte == b'|').map(Content::Quoted)
            }
            _ if is(byte, VALUE_START) => Ok(match self.read_plain_line(start) {
                Some(text) => Content::Plain(Cow::Borrowed(text)),
                None => Content::Unknown,
            }),
            _ => Ok(Content::Unknown),
        }
    }

    /// Whether a quoted scalar at `start` ends its line.
    fn is_quoted_line(&self, start: usize) -> bool {
        let quote = self.bytes[start];
        let rest = &self.bytes[start + 1..];
        let end = memchr::memchr2(quote, b'\n', rest);
        end.is_some_and(|end| rest[end] == quote && rest.get(end + 1) == Some(&b'\n'))
    }

    /// A plain scalar that ends with its line.
    fn read_plain_line(&mut self, start: usize) -> Option<&'a str> {
        let mut end = start;
        loop {
            end += self.bytes[end..].iter().position(|&byte| is(byte, STOP))?;
            match self.bytes[end] {
                b'\n' => break,
                b':' if !matches!(self.bytes.get(end + 1), None | Some(b' ' | b'\n' | b'\t')) => {
                    end += 1;
                }
                b'#' if self.bytes[end - 1] != b' ' => end += 1,
                _ => return None,
            }
        }
        if self.bytes[end - 1] == b' ' || !self.is_shallow_after(end) {
            return None;
        }
        let text = &self.text[start..end];
        self.position = end;
        self.skip_empty_lines();
        Some(text)
    }

    /// Whether the next line after `end` is not indented deeper than the current collection, so that a plain scalar before
    /// it is complete.
    fn is_shallow_after(&self, end: usize) -> bool {
        let mut at = end;
        while self.bytes.get(at) == Some(&b'\n') {
            let start = at + 1;
            at = self.after_spaces(start);
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

    /// Skips spaces, line breaks and comments.
    fn skip_empty_lines(&mut self) {
        while let Some(&byte) = self.bytes.get(self.position) {
            match byte {
                b' ' => self.position += 1,
                b'\n' => {
                    self.position += 1;
                    self.line += 1;
                    self.line_start = self.position;
                    self.simple_key_allowed = true;
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

/// Folds line breaks: a single one becomes a space, of several the first is dropped.
pub(super) fn folded<'s>(first: &'s str, rest: &'s str) -> Cow<'s, str> {
    match first {
        "\n" if rest.is_empty() => " ".into(),
        "\n" | "" => rest.into(),
        _ => format!("{first}{rest}").into(),
    }
}
