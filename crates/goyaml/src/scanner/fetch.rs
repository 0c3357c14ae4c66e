//! Dispatch on the next token.

use super::{Scanner, TokenKind};
use crate::error::Error;

impl<const EXACT: bool> Scanner<'_, EXACT> {
    /// Adds at least one token to the queue.
    pub(super) fn fetch_next(&mut self) -> Result<(), Error> {
        self.need(1)?;
        if !self.started {
            self.started = true;
            self.push(TokenKind::StreamStart, 0);
            return Ok(());
        }
        self.skip_to_token()?;
        self.unroll_indent(isize::try_from(self.column()).unwrap_or(isize::MAX));
        self.need(4)?;
        if self.is_end(0) {
            return self.fetch_stream_end();
        }
        if self.column() == 0 {
            if self.at(0) == b'%' {
                return self.fetch_directive();
            }
            if self.is_document_indicator() {
                return self.fetch_document_indicator();
            }
        }
        self.fetch_by_character()
    }

    fn fetch_by_character(&mut self) -> Result<(), Error> {
        let in_flow = self.in_flow();
        match self.at(0) {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.is_blank_or_end(1) => self.fetch_key(),
            b':' if in_flow || self.is_blank_or_end(1) => self.fetch_value(),
            b'*' => self.fetch_anchor(true),
            b'&' => self.fetch_anchor(false),
            b'!' => self.fetch_tag(),
            b'|' if !in_flow => self.fetch_block_scalar(true),
            b'>' if !in_flow => self.fetch_block_scalar(false),
            quote @ (b'\'' | b'"') => self.fetch_quoted(quote),
            b' ' | b'\t' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => self.no_token(),
            _ => self.fetch_plain(),
        }
    }

    fn no_token(&self) -> Result<(), Error> {
        Err(self.error("found character that cannot start any token"))
    }

    /// Skips blanks, comments and line breaks.
    fn skip_to_token(&mut self) -> Result<(), Error> {
        loop {
            self.need(1)?;
            if EXACT && self.column() == 0 && self.is_byte_order_mark_at_base() {
                // The byte order mark counts as one column.
                self.skip();
                self.line_start = self.position.saturating_sub(1);
            }
            self.need(1)?;
            while self.at(0) == b' '
                || (self.at(0) == b'\t' && (self.in_flow() || !self.simple_key_allowed))
            {
                self.skip_ascii(1);
                self.need(1)?;
            }
            self.skip_comment()?;
            if !self.is_break(0) {
                return Ok(());
            }
            self.need(2)?;
            self.skip_line();
            if !self.in_flow() {
                self.simple_key_allowed = true;
            }
        }
    }

    /// go-yaml checks for the byte order mark at the start of its buffer instead of at the current position.
    fn is_byte_order_mark_at_base(&self) -> bool {
        self.bytes[self.reader.base..].starts_with(b"\xEF\xBB\xBF")
    }

    fn fetch_stream_end(&mut self) -> Result<(), Error> {
        if self.column() != 0 {
            self.line += 1;
            self.line_start = self.position;
        }
        self.leave_blocks()?;
        self.push(TokenKind::StreamEnd, self.line);
        Ok(())
    }

    fn leave_blocks(&mut self) -> Result<(), Error> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Error> {
        self.leave_blocks()?;
        let line = self.line;
        let kind = self.scan_directive()?;
        self.push(kind, line);
        Ok(())
    }

    fn fetch_document_indicator(&mut self) -> Result<(), Error> {
        self.leave_blocks()?;
        let kind = if self.at(0) == b'-' {
            TokenKind::DocumentStart
        } else {
            TokenKind::DocumentEnd
        };
        self.skip_ascii(3);
        self.push(kind, self.line);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'static>) -> Result<(), Error> {
        self.save_simple_key()?;
        self.increase_flow_level()?;
        self.simple_key_allowed = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'static>) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.decrease_flow_level();
        self.simple_key_allowed = false;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        if !self.in_flow() {
            if !self.simple_key_allowed {
                return Err(self.error("block sequence entries are not allowed in this context"));
            }
            self.roll_indent(
                self.column(),
                None,
                TokenKind::BlockSequenceStart,
                self.line,
            )?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        if !self.in_flow() {
            if !self.simple_key_allowed {
                return Err(self.error("mapping keys are not allowed in this context"));
            }
            self.roll_indent(self.column(), None, TokenKind::BlockMappingStart, self.line)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = !self.in_flow();
        self.push_indicator(TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let level = self.simple_keys.len() - 1;
        if self.is_simple_key_valid(level)? {
            let key = self.simple_keys[level];
            self.insert(key.token, TokenKind::Key, key.line);
            self.roll_indent(
                key.column,
                Some(key.token),
                TokenKind::BlockMappingStart,
                key.line,
            )?;
            let key = self.current_key();
            key.possible = false;
            key.holds = false;
            self.simple_key_allowed = false;
        } else {
            if !self.in_flow() {
                if !self.simple_key_allowed {
                    return Err(self.error("mapping values are not allowed in this context"));
                }
                self.roll_indent(self.column(), None, TokenKind::BlockMappingStart, self.line)?;
            }
            self.simple_key_allowed = !self.in_flow();
        }
        self.push_indicator(TokenKind::Value);
        Ok(())
    }

    fn fetch_anchor(&mut self, is_alias: bool) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let name = self.scan_anchor()?;
        let kind = if is_alias {
            TokenKind::Alias(name)
        } else {
            TokenKind::Anchor(name)
        };
        self.push(kind, self.line);
        Ok(())
    }

    fn fetch_tag(&mut self) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let kind = self.scan_tag()?;
        self.push(kind, self.line);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let line = self.line;
        let text = self.scan_block_scalar(literal)?;
        self.push(TokenKind::Scalar { text, plain: false }, line);
        Ok(())
    }

    fn fetch_quoted(&mut self, quote: u8) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let line = self.line;
        let text = self.scan_quoted(quote)?;
        self.push(TokenKind::Scalar { text, plain: false }, line);
        Ok(())
    }

    fn fetch_plain(&mut self) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let line = self.line;
        let text = self.scan_plain()?;
        self.push(TokenKind::Scalar { text, plain: true }, line);
        Ok(())
    }

    fn push_indicator(&mut self, kind: TokenKind<'static>) {
        self.skip_ascii(1);
        self.push(kind, self.line);
    }
}
