//! Anchors, tags and directives.

use std::borrow::Cow;

use super::{Scanner, TokenKind};
use crate::error::Error;

impl<'a, const EXACT: bool> Scanner<'a, EXACT> {
    /// The name after `&` or `*`.
    pub(super) fn scan_anchor(&mut self) -> Result<&'a str, Error> {
        self.skip_ascii(1);
        self.need(1)?;
        let name = self.scan_word()?;
        let is_ended = self.is_blank_or_end(0)
            || matches!(
                self.at(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !is_ended {
            return Err(self.error("did not find expected alphabetic or numeric character"));
        }
        Ok(name)
    }

    fn scan_word(&mut self) -> Result<&'a str, Error> {
        let start = self.position;
        while self.is_word(0) {
            self.skip_ascii(1);
            self.need(1)?;
        }
        Ok(&self.text[start..self.position])
    }

    pub(super) fn scan_tag(&mut self) -> Result<TokenKind<'a>, Error> {
        self.need(2)?;
        let (handle, suffix) = if self.at(1) == b'<' {
            self.skip_ascii(2);
            let suffix = self.scan_tag_uri("")?;
            if self.at(0) != b'>' {
                return Err(self.error("did not find the expected '>'"));
            }
            self.skip_ascii(1);
            ("", suffix)
        } else {
            self.scan_short_tag()?
        };
        self.need(1)?;
        if !self.is_blank_or_end(0) {
            return Err(self.error("did not find expected whitespace or line break"));
        }
        Ok(TokenKind::Tag(Cow::Borrowed(handle), suffix))
    }

    /// `!suffix`, `!handle!suffix`, or `!` alone.
    fn scan_short_tag(&mut self) -> Result<(&'a str, Cow<'a, [u8]>), Error> {
        let handle = self.scan_tag_handle(false)?;
        if handle.len() > 1 && handle.ends_with('!') {
            return Ok((handle, self.scan_tag_uri("")?));
        }
        let suffix = self.scan_tag_uri(handle)?;
        if suffix.is_empty() {
            return Ok(("", Cow::Borrowed(b"!")));
        }
        Ok(("!", suffix))
    }

    fn scan_tag_handle(&mut self, is_directive: bool) -> Result<&'a str, Error> {
        self.need(1)?;
        if self.at(0) != b'!' {
            return Err(self.error("did not find expected '!'"));
        }
        let start = self.position;
        self.skip_ascii(1);
        self.need(1)?;
        self.scan_word()?;
        if self.at(0) == b'!' {
            self.skip_ascii(1);
        } else if is_directive && self.position - start != 1 {
            return Err(self.error("did not find expected '!'"));
        }
        Ok(&self.text[start..self.position])
    }

    /// The rest of a tag after `head`, whose `!` is dropped.
    fn scan_tag_uri(&mut self, head: &'a str) -> Result<Cow<'a, [u8]>, Error> {
        let mut uri = Cow::Borrowed(head.strip_prefix('!').unwrap_or(head).as_bytes());
        let mut has_tag = !head.is_empty();
        self.need(1)?;
        while self.is_uri() {
            if self.at(0) == b'%' {
                self.scan_uri_escapes(uri.to_mut())?;
            } else {
                uri.to_mut().push(self.at(0));
                self.skip_ascii(1);
            }
            self.need(1)?;
            has_tag = true;
        }
        if !has_tag {
            return Err(self.error("did not find expected tag URI"));
        }
        Ok(uri)
    }

    fn is_uri(&self) -> bool {
        self.is_word(0)
            || matches!(
                self.at(0),
                b';' | b'/'
                    | b'?'
                    | b':'
                    | b'@'
                    | b'&'
                    | b'='
                    | b'+'
                    | b'$'
                    | b','
                    | b'.'
                    | b'!'
                    | b'~'
                    | b'*'
                    | b'\''
                    | b'('
                    | b')'
                    | b'['
                    | b']'
                    | b'%'
            )
    }

    /// The percent-encoded octets of one character.
    fn scan_uri_escapes(&mut self, uri: &mut Vec<u8>) -> Result<(), Error> {
        let mut left = None;
        while left != Some(0) {
            self.need(3)?;
            let digit = |offset| char::from(self.at(offset)).to_digit(16);
            let (b'%', Some(high), Some(low)) = (self.at(0), digit(1), digit(2)) else {
                return Err(self.error("did not find URI escaped octet"));
            };
            let octet = u8::try_from(high * 16 + low).unwrap_or(0);
            left = match left {
                None => match octet {
                    0x00..=0x7F => Some(0),
                    0xC0..=0xDF => Some(1),
                    0xE0..=0xEF => Some(2),
                    0xF0..=0xF7 => Some(3),
                    _ => return Err(self.error("found an incorrect leading UTF-8 octet")),
                },
                Some(_) if octet & 0xC0 != 0x80 => {
                    return Err(self.error("found an incorrect trailing UTF-8 octet"));
                }
                Some(count) => Some(count - 1_u8),
            };
            uri.push(octet);
            self.skip_ascii(3);
        }
        Ok(())
    }

    /// `%YAML` or `%TAG` with its line.
    pub(super) fn scan_directive(&mut self) -> Result<TokenKind<'a>, Error> {
        self.skip_ascii(1);
        self.need(1)?;
        let name = self.scan_word()?;
        if name.is_empty() {
            return Err(self.error("could not find expected directive name"));
        }
        if !self.is_blank_or_end(0) {
            return Err(self.error("found unexpected non-alphabetical character"));
        }
        let kind = match name {
            "YAML" => self.scan_version()?,
            "TAG" => self.scan_tag_directive()?,
            _ => return Err(self.error("found unknown directive name")),
        };
        self.need(1)?;
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.is_break_or_end(0) {
            return Err(self.error("did not find expected comment or line break"));
        }
        if self.is_break(0) {
            self.need(2)?;
            self.skip_line();
        }
        Ok(kind)
    }

    fn scan_version(&mut self) -> Result<TokenKind<'a>, Error> {
        self.need(1)?;
        self.skip_blanks()?;
        let major = self.scan_version_number()?;
        if self.at(0) != b'.' {
            return Err(self.error("did not find expected digit or '.' character"));
        }
        self.skip_ascii(1);
        let minor = self.scan_version_number()?;
        Ok(TokenKind::VersionDirective(major, minor))
    }

    fn scan_version_number(&mut self) -> Result<u8, Error> {
        self.need(1)?;
        let mut value = 0_u8;
        let mut length = 0;
        while self.at(0).is_ascii_digit() {
            length += 1;
            if length > 2 {
                return Err(self.error("found extremely long version number"));
            }
            value = value * 10 + (self.at(0) - b'0');
            self.skip_ascii(1);
            self.need(1)?;
        }
        if length == 0 {
            return Err(self.error("did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self) -> Result<TokenKind<'a>, Error> {
        self.need(1)?;
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true)?;
        self.need(1)?;
        if !self.is_blank(0) {
            return Err(self.error("did not find expected whitespace"));
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri("")?;
        self.need(1)?;
        if !self.is_blank_or_end(0) {
            return Err(self.error("did not find expected whitespace or line break"));
        }
        Ok(TokenKind::TagDirective(Cow::Borrowed(handle), prefix))
    }
}
