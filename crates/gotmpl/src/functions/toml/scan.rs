//! The scanner of TOML documents, which counts lines for errors.

use super::{Edition, ParseError};

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// The end of the input.
pub(super) const END: char = '\0';

#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    pub(super) at: usize,
    pub(super) line: usize,
    pub(super) edition: Edition,
}

pub(super) fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

pub(super) fn is_line_end(c: char) -> bool {
    c == '\n' || c == '\r'
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, edition: Edition) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            edition,
        }
    }

    /// The next character, or [`END`]; control characters are an error.
    pub(super) fn peek(&self) -> Result<char> {
        let mut rest = self.text[self.at..].chars();
        let Some(c) = rest.next() else {
            return Ok(END);
        };
        let is_control = matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f');
        let is_lone_return = c == '\r' && rest.next() != Some('\n');
        if is_control || is_lone_return {
            let code = u32::from(c);
            return Err(self.error(format!(
                "TOML files cannot contain control characters: '0x{code:02x}'"
            )));
        }
        Ok(c)
    }

    pub(super) fn next(&mut self) -> Result<char> {
        let c = self.peek()?;
        if !self.is_at_end() {
            self.at += c.len_utf8();
            self.line += usize::from(c == '\n');
        }
        Ok(c)
    }

    /// Consumes the next character if it is this one.
    pub(super) fn accept(&mut self, wanted: char) -> Result<bool> {
        let found = !self.is_at_end() && self.peek()? == wanted;
        if found {
            self.next()?;
        }
        Ok(found)
    }

    pub(super) fn skip_while(&mut self, fits: impl Fn(char) -> bool) -> Result<()> {
        while !self.is_at_end() && fits(self.peek()?) {
            self.next()?;
        }
        Ok(())
    }

    pub(super) fn skip_blanks(&mut self) -> Result<()> {
        self.skip_while(is_blank)
    }

    /// Skips to the end of the line after a `#`.
    pub(super) fn skip_comment(&mut self) -> Result<()> {
        self.skip_while(|c| !is_line_end(c))
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        self.error_on(self.line, message)
    }

    pub(super) fn error_on(&self, line: usize, message: impl Into<String>) -> ParseError {
        ParseError {
            line,
            last_key: String::new(),
            message: message.into(),
        }
    }

    /// The error for the character just read, which may be [`END`].
    pub(super) fn error_at(&self, c: char, message: impl Into<String>) -> ParseError {
        let is_line_before =
            c == END && (self.edition == Edition::V1_4 || self.text.ends_with('\n'));
        self.error_on(self.line - usize::from(is_line_before), message)
    }

    /// The error for a line break just read, which belongs to the line before.
    pub(super) fn error_before(&self, message: impl Into<String>) -> ParseError {
        self.error_on(self.line - 1, message)
    }
}
