//! Plain scalars: text without quotes.

use std::borrow::Cow;

use super::Scanner;
use super::line::folded;
use crate::error::Error;

impl<'a, const EXACT: bool> Scanner<'a, EXACT> {
    pub(super) fn scan_plain(&mut self) -> Result<Cow<'a, str>, Error> {
        let indent = usize::try_from(self.indent + 1).unwrap_or(0);
        let mut done = String::new();
        // The part since the last folded line break, which is contiguous in the source.
        let (mut start, mut end) = (self.position, self.position);
        let mut breaks: Option<(&'static str, String)> = None;
        let mut crossed = false;
        loop {
            self.need(4)?;
            if self.is_document_indicator() || self.at(0) == b'#' {
                break;
            }
            let word = self.position;
            self.skip_plain_word()?;
            if self.position > word {
                if let Some((first, rest)) = breaks.take() {
                    if !self.discard {
                        done.push_str(&self.text[start..end]);
                        done.push_str(&folded(first, &rest));
                    }
                    crossed = true;
                    start = word;
                }
                end = self.position;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            self.need(1)?;
            self.skip_plain_space(indent, &mut breaks)?;
            if !self.in_flow() && self.column() < indent {
                break;
            }
        }
        if breaks.is_some() {
            self.simple_key_allowed = true;
        }
        let last = &self.text[start..end];
        if !crossed {
            return Ok(Cow::Borrowed(last));
        }
        if self.discard {
            return Ok(Cow::Borrowed(" "));
        }
        done.push_str(last);
        Ok(Cow::Owned(done))
    }

    fn skip_plain_word(&mut self) -> Result<(), Error> {
        let in_flow = self.in_flow();
        if !EXACT {
            while let Some(&byte) = self.bytes.get(self.position) {
                match byte {
                    b' ' | b'\t' | b'\n' => break,
                    b':' if self.is_blank_or_end(1) => break,
                    b',' | b'?' | b'[' | b']' | b'{' | b'}' if in_flow => break,
                    _ => self.position += 1,
                }
            }
            return Ok(());
        }
        while !self.is_blank_or_end(0) {
            match self.at(0) {
                b':' if self.is_blank_or_end(1) => break,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if in_flow => break,
                _ => {}
            }
            self.skip();
            self.need(2)?;
        }
        Ok(())
    }

    /// Skips the white space after a word, and records its line breaks.
    fn skip_plain_space(
        &mut self,
        indent: usize,
        breaks: &mut Option<(&'static str, String)>,
    ) -> Result<(), Error> {
        loop {
            if self.is_blank(0) {
                if breaks.is_some() && self.column() < indent && self.at(0) == b'\t' {
                    return Err(self.error("found a tab character that violates indentation"));
                }
                self.skip_ascii(1);
            } else if self.is_break(0) {
                self.need(2)?;
                let text = self.read_line();
                match breaks {
                    Some((_, rest)) => rest.push_str(text),
                    None => *breaks = Some((text, String::new())),
                }
            } else {
                return Ok(());
            }
            self.need(1)?;
        }
    }
}
