//! Scalars in single or double quotes.

use std::borrow::Cow;

use super::Scanner;
use super::line::folded;
use crate::error::Error;

impl<'a, const EXACT: bool> Scanner<'a, EXACT> {
    pub(super) fn scan_quoted(&mut self, quote: u8) -> Result<Cow<'a, str>, Error> {
        self.skip_ascii(1);
        if !EXACT && let Some(text) = self.scan_quoted_in_line(quote) {
            return Ok(Cow::Borrowed(text));
        }
        let mut done = String::new();
        loop {
            self.need(4)?;
            if self.is_document_indicator() {
                return Err(self.error("found unexpected document indicator"));
            }
            if self.is_end(0) {
                return Err(self.error("found unexpected end of stream"));
            }
            let escaped_break = self.scan_quoted_word(quote, &mut done)?;
            self.need(1)?;
            if self.at(0) == quote {
                break;
            }
            self.scan_quoted_space(escaped_break, &mut done)?;
        }
        self.skip_ascii(1);
        Ok(Cow::Owned(done))
    }

    /// The fast path: no escapes and no line breaks.
    pub(super) fn scan_quoted_in_line(&mut self, quote: u8) -> Option<&'a str> {
        let rest = &self.bytes[self.position..];
        let length = if quote == b'"' {
            memchr::memchr3(b'"', b'\\', b'\n', rest)?
        } else {
            memchr::memchr2(b'\'', b'\n', rest)?
        };
        let is_escape = quote == b'\'' && rest.get(length + 1) == Some(&b'\'');
        if rest[length] != quote || is_escape {
            return None;
        }
        let text = &self.text[self.position..self.position + length];
        self.position += length + 1;
        Some(text)
    }

    /// Scans up to white space or the closing quote; returns whether an escaped line break ended the word.
    fn scan_quoted_word(&mut self, quote: u8, done: &mut String) -> Result<bool, Error> {
        let mut start = self.position;
        while !self.is_blank_or_end(0) {
            let byte = self.at(0);
            if byte == quote {
                if quote == b'"' || self.at(1) != b'\'' {
                    break;
                }
                // A overwritten single quote.
                self.skip_ascii(1);
                done.push_str(&self.text[start..self.position]);
                self.skip_ascii(1);
                start = self.position;
            } else if byte == b'\\' && quote == b'"' {
                done.push_str(&self.text[start..self.position]);
                if self.is_break(1) {
                    self.need(3)?;
                    self.skip_ascii(1);
                    self.skip_line();
                    return Ok(true);
                }
                self.scan_escape(done)?;
                start = self.position;
            } else {
                self.skip();
            }
            self.need(2)?;
        }
        done.push_str(&self.text[start..self.position]);
        Ok(false)
    }

    fn scan_escape(&mut self, done: &mut String) -> Result<(), Error> {
        let digits = match self.at(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            byte => {
                let Some(c) = simple_escape(byte) else {
                    return Err(self.error("found unknown escape character"));
                };
                done.push(c);
                0
            }
        };
        self.skip_ascii(2);
        if digits == 0 {
            return Ok(());
        }
        self.need(digits)?;
        let mut value = 0_u32;
        for offset in 0..digits {
            let Some(digit) = char::from(self.at(offset)).to_digit(16) else {
                return Err(self.error("did not find expected hexdecimal number"));
            };
            value = (value << 4) | digit;
        }
        let Some(c) = char::from_u32(value) else {
            return Err(self.error("found invalid Unicode character escape code"));
        };
        done.push(c);
        self.skip_ascii(digits);
        Ok(())
    }

    /// Scans the white space between words.
    fn scan_quoted_space(&mut self, escaped_break: bool, done: &mut String) -> Result<(), Error> {
        let start = self.position;
        let mut end = start;
        let mut first = "";
        let mut rest = String::new();
        let mut crossed = escaped_break;
        loop {
            if self.is_blank(0) {
                self.skip_ascii(1);
                end = self.position;
            } else if self.is_break(0) {
                self.need(2)?;
                let text = self.read_line();
                if crossed {
                    rest.push_str(text);
                } else {
                    first = text;
                    crossed = true;
                }
            } else {
                break;
            }
            self.need(1)?;
        }
        if crossed {
            done.push_str(&folded(first, &rest));
        } else {
            done.push_str(&self.text[start..end]);
        }
        Ok(())
    }
}

fn simple_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{B}',
        b'f' => '\u{C}',
        b'r' => '\r',
        b'e' => '\u{1B}',
        b' ' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
