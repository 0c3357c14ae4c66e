//! Block scalars: the indented text after `|` or `>`.

use std::borrow::Cow;

use super::Scanner;
use crate::error::Error;

/// The treatment of trailing line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

impl<'a, const EXACT: bool> Scanner<'a, EXACT> {
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<Cow<'a, str>, Error> {
        self.skip_ascii(1);
        let (chomp, increment) = self.scan_block_header()?;
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.is_break_or_end(0) {
            return Err(self.error("did not find expected comment or line break"));
        }
        if self.is_break(0) {
            self.need(2)?;
            self.skip_line();
        }
        let mut indent = match increment {
            0 => 0,
            _ => usize::try_from(self.indent.max(0)).unwrap_or(0) + increment,
        };
        if self.discard {
            self.skip_block_lines(indent)?;
            return Ok(Cow::Borrowed(" "));
        }
        self.scan_block_lines(literal, chomp, &mut indent)
            .map(Cow::Owned)
    }

    /// The chomping and indentation indicators, in either order.
    fn scan_block_header(&mut self) -> Result<(Chomp, usize), Error> {
        self.need(1)?;
        let mut chomp = self.scan_chomp();
        if chomp.is_some() {
            self.need(1)?;
        }
        let increment = self.scan_increment()?;
        if increment != 0 && chomp.is_none() {
            self.need(1)?;
            chomp = self.scan_chomp();
        }
        self.need(1)?;
        Ok((chomp.unwrap_or(Chomp::Clip), increment))
    }

    fn scan_chomp(&mut self) -> Option<Chomp> {
        let chomp = match self.at(0) {
            b'+' => Chomp::Keep,
            b'-' => Chomp::Strip,
            _ => return None,
        };
        self.skip_ascii(1);
        Some(chomp)
    }

    fn scan_increment(&mut self) -> Result<usize, Error> {
        match self.at(0) {
            b'0' => Err(self.error("found an indentation indicator equal to 0")),
            digit @ b'1'..=b'9' => {
                self.skip_ascii(1);
                Ok(usize::from(digit - b'0'))
            }
            _ => Ok(0),
        }
    }

    fn scan_block_lines(
        &mut self,
        literal: bool,
        chomp: Chomp,
        indent: &mut usize,
    ) -> Result<String, Error> {
        let mut text = String::new();
        let mut leading_break = "";
        let mut trailing_breaks = String::new();
        self.scan_block_breaks(indent, &mut trailing_breaks)?;
        self.need(1)?;
        let mut after_blank = false;
        while self.column() == *indent && !self.is_end(0) {
            let blank = self.is_blank(0);
            if !literal && !after_blank && !blank && leading_break == "\n" {
                if trailing_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(leading_break);
            }
            text.push_str(&trailing_breaks);
            trailing_breaks.clear();
            after_blank = blank;
            let start = self.position;
            self.skip_to_line_end()?;
            text.push_str(&self.text[start..self.position]);
            self.need(2)?;
            leading_break = self.read_line();
            self.scan_block_breaks(indent, &mut trailing_breaks)?;
        }
        if chomp != Chomp::Strip {
            text.push_str(leading_break);
        }
        if chomp == Chomp::Keep {
            text.push_str(&trailing_breaks);
        }
        Ok(text)
    }

    fn skip_block_lines(&mut self, mut indent: usize) -> Result<(), Error> {
        let mut unused = String::new();
        self.scan_block_breaks(&mut indent, &mut unused)?;
        self.need(1)?;
        while self.column() == indent && !self.is_end(0) {
            self.skip_to_line_end()?;
            self.need(2)?;
            self.skip_line();
            self.scan_block_breaks(&mut indent, &mut unused)?;
        }
        Ok(())
    }

    fn skip_to_line_end(&mut self) -> Result<(), Error> {
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

    /// Skips empty lines and the indentation of the next line; detects the indentation if it is zero.
    fn scan_block_breaks(&mut self, indent: &mut usize, breaks: &mut String) -> Result<(), Error> {
        let mut deepest = 0;
        loop {
            self.need(1)?;
            while (*indent == 0 || self.column() < *indent) && self.at(0) == b' ' {
                self.skip_ascii(1);
                self.need(1)?;
            }
            deepest = deepest.max(self.column());
            if (*indent == 0 || self.column() < *indent) && self.at(0) == b'\t' {
                return Err(
                    self.error("found a tab character where an indentation space is expected")
                );
            }
            if !self.is_break(0) {
                break;
            }
            self.need(2)?;
            let text = self.read_line();
            if !self.discard {
                breaks.push_str(text);
            }
        }
        if *indent == 0 {
            let least = usize::try_from(self.indent + 1).unwrap_or(0).max(1);
            *indent = deepest.max(least);
        }
        Ok(())
    }
}
