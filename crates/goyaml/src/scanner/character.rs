//! Access to single characters.

use super::Scanner;
use crate::error::Error;

impl<const EXACT: bool> Scanner<'_, EXACT> {
    /// The byte at `offset` from the current position; zero after the end.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> u8 {
        self.bytes.get(self.position + offset).copied().unwrap_or(0)
    }

    /// Requests `count` characters from the reader.
    #[inline]
    pub(super) fn need(&mut self, count: usize) -> Result<(), Error> {
        if EXACT {
            self.reader.need(self.text, self.position, count)
        } else {
            Ok(())
        }
    }

    /// The length of the line break at `offset`; zero if there is none.
    #[inline]
    pub(super) fn break_length(&self, offset: usize) -> usize {
        if !EXACT {
            return usize::from(self.at(offset) == b'\n');
        }
        let rest = self.bytes.get(self.position + offset..).unwrap_or_default();
        match rest {
            [b'\r', b'\n', ..] | [0xC2, 0x85, ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn is_break(&self, offset: usize) -> bool {
        self.break_length(offset) != 0
    }

    #[inline]
    pub(super) fn is_end(&self, offset: usize) -> bool {
        self.position + offset >= self.bytes.len()
    }

    #[inline]
    pub(super) fn is_blank(&self, offset: usize) -> bool {
        matches!(self.at(offset), b' ' | b'\t')
    }

    #[inline]
    pub(super) fn is_break_or_end(&self, offset: usize) -> bool {
        self.is_end(offset) || self.is_break(offset)
    }

    /// A blank, a line break, or the end.
    #[inline]
    pub(super) fn is_blank_or_end(&self, offset: usize) -> bool {
        self.is_blank(offset) || self.is_break_or_end(offset)
    }

    pub(super) fn is_word(&self, offset: usize) -> bool {
        matches!(self.at(offset), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    /// Whether the line starts with `---` or `...` here.
    #[inline]
    pub(super) fn is_document_indicator(&self) -> bool {
        self.column() == 0 && self.is_indicator_text()
    }

    fn is_indicator_text(&self) -> bool {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        (rest.starts_with(b"---") || rest.starts_with(b"...")) && self.is_blank_or_end(3)
    }

    /// Skips one character.
    #[inline]
    pub(super) fn skip(&mut self) {
        let width = match self.at(0) {
            0x00..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
        };
        self.position = (self.position + width).min(self.bytes.len());
    }

    /// Skips `count` bytes, which must be ASCII.
    #[inline]
    pub(super) fn skip_ascii(&mut self, count: usize) {
        self.position += count;
    }

    /// Skips a line break, if there is one.
    #[inline]
    pub(super) fn skip_line(&mut self) {
        let length = self.break_length(0);
        if length != 0 {
            self.position += length;
            self.line += 1;
            self.line_start = self.position;
        }
    }

    /// Skips a line break, and returns its text in a scalar.
    #[inline]
    pub(super) fn read_line(&mut self) -> &'static str {
        let text = match self.at(0) {
            0xE2 if self.at(2) == 0xA8 => "\u{2028}",
            0xE2 => "\u{2029}",
            _ => "\n",
        };
        if !self.is_break(0) {
            return "";
        }
        self.skip_line();
        text
    }

    pub(super) fn skip_blanks(&mut self) -> Result<(), Error> {
        while self.is_blank(0) {
            self.skip_ascii(1);
            self.need(1)?;
        }
        Ok(())
    }

    /// Skips a comment, if one starts here.
    pub(super) fn skip_comment(&mut self) -> Result<(), Error> {
        if self.at(0) != b'#' {
            return Ok(());
        }
        if !EXACT {
            let rest = &self.bytes[self.position..];
            self.position += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            return Ok(());
        }
        while !self.is_break_or_end(0) {
            self.skip();
            self.need(1)?;
        }
        Ok(())
    }
}
