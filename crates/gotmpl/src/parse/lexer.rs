//! The lexer of text/template.
//!
//! It does not count lines: tokens have offsets, and only errors need line numbers.

use memchr::{memchr, memmem};
use outrigger_gostd::fmt::sharp_unicode;
use outrigger_gostd::strconv::quote_bytes;
use outrigger_gostd::unicode::{self, RUNE_ERROR};

use crate::ir::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Error,
    Bool,
    /// `itemChar`: a printable character without a meaning of its own, such as a comma.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl TokenKind {
    pub(super) fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Block
                | Self::Break
                | Self::Continue
                | Self::Dot
                | Self::Define
                | Self::Else
                | Self::End
                | Self::If
                | Self::Nil
                | Self::Range
                | Self::Template
                | Self::With
        )
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub kind: TokenKind,
    /// Whether white space precedes it inside an action.
    pub is_spaced: bool,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub(super) fn span(self) -> Span {
        Span {
            start: self.start,
            end: self.end,
        }
    }
}

#[derive(Debug)]
pub(super) struct Lexer<'s> {
    input: &'s [u8],
    pos: usize,
    /// The start of the current token.
    start: usize,
    paren_depth: usize,
    inside_action: bool,
    /// The text of the last [`TokenKind::Error`].
    pub error: String,
    /// The comments so far: Go 1.23 does not count the lines in them.
    pub comments: Vec<Span>,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(input: &'s [u8]) -> Self {
        Self {
            input,
            pos: 0,
            start: 0,
            paren_depth: 0,
            inside_action: false,
            error: String::new(),
            comments: Vec::new(),
        }
    }

    pub(super) fn next_token(&mut self) -> Token {
        if self.inside_action {
            self.inside_action()
        } else {
            self.text()
        }
    }

    fn token(&mut self, kind: TokenKind) -> Token {
        let span = Span::new(self.start, self.pos);
        self.start = self.pos;
        Token {
            kind,
            is_spaced: false,
            start: span.start,
            end: span.end,
        }
    }

    fn fail(&mut self, message: impl Into<String>) -> Token {
        self.error = message.into();
        self.pos = self.start;
        self.token(TokenKind::Error)
    }

    fn rest(&self) -> &'s [u8] {
        self.input.get(self.pos..).unwrap_or_default()
    }

    /// The next rune and its width, which is 0 at the end of the input.
    fn rune(&self) -> (char, usize) {
        unicode::decode_rune(self.rest()).unwrap_or((RUNE_ERROR, 0))
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.pos).copied()
    }

    /// Text up to the next action. Comments are skipped.
    fn text(&mut self) -> Token {
        loop {
            let Some(delim) = find_left_delim(self.input, self.pos) else {
                self.pos = self.input.len();
                let kind = if self.pos > self.start {
                    TokenKind::Text
                } else {
                    TokenKind::Eof
                };
                return self.token(kind);
            };
            let after = &self.input[delim + 2..];
            let trims = has_left_trim_marker(after);
            if delim > self.start {
                let text = &self.input[self.start..delim];
                self.pos = self.start
                    + if trims {
                        text.trim_ascii_end_go().len()
                    } else {
                        text.len()
                    };
                let token = self.token(TokenKind::Text);
                self.pos = delim;
                self.start = delim;
                if token.end > token.start {
                    return token;
                }
            }
            let marker = if trims { 2 } else { 0 };
            self.pos = delim + 2;
            if after[marker..].starts_with(b"/*") {
                self.pos += marker;
                self.start = self.pos;
                if let Some(error) = self.comment() {
                    return error;
                }
                continue;
            }
            let token = self.token(TokenKind::LeftDelim);
            self.inside_action = true;
            self.pos += marker;
            self.start = self.pos;
            self.paren_depth = 0;
            return token;
        }
    }

    /// Skips a comment and its closing delimiter.
    fn comment(&mut self) -> Option<Token> {
        let Some(length) = memmem::find(&self.input[self.pos + 2..], b"*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.pos += 2 + length + 2;
        let Some(trims) = self.at_right_delim() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        self.comments.push(Span::new(self.start, self.pos));
        self.skip_right_delim(trims);
        None
    }

    /// Whether a right delimiter is next and, if so, whether it trims.
    fn at_right_delim(&self) -> Option<bool> {
        let rest = self.rest();
        match rest {
            [space, b'-', b'}', b'}', ..] if is_space(*space) => Some(true),
            [b'}', b'}', ..] => Some(false),
            _ => None,
        }
    }

    fn skip_right_delim(&mut self, trims: bool) {
        self.pos += if trims { 4 } else { 2 };
        if trims {
            self.pos = self.input.len() - self.rest().trim_ascii_start_go().len();
        }
        self.start = self.pos;
    }

    /// The right delimiter, after its trim marker if there is one.
    fn right_delim(&mut self, trims: bool) -> Token {
        self.pos += 2;
        let token = self.token(TokenKind::RightDelim);
        if trims {
            self.pos = self.input.len() - self.rest().trim_ascii_start_go().len();
            self.start = self.pos;
        }
        self.inside_action = false;
        token
    }

    fn inside_action(&mut self) -> Token {
        let spaces = self.rest().iter().take_while(|byte| is_space(**byte));
        self.pos += spaces.count();
        let is_spaced = self.pos > self.start;
        self.start = self.pos;
        let first = self.peek();
        let token = match first {
            None => self.fail("unclosed action"),
            Some(b'}') if self.rest().starts_with(b"}}") => self.end_of_action(false),
            Some(b'-') if is_spaced && self.rest().starts_with(b"-}}") => self.end_of_action(true),
            Some(first) => self.word(first),
        };
        Token { is_spaced, ..token }
    }

    fn end_of_action(&mut self, trims: bool) -> Token {
        if self.paren_depth > 0 {
            // The trim marker starts with a space.
            self.start -= usize::from(trims);
            return self.fail("unclosed left paren");
        }
        self.pos += usize::from(trims);
        self.start = self.pos;
        self.right_delim(trims)
    }

    fn word(&mut self, first: u8) -> Token {
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.identifier(),
            b'.' if !matches!(self.rest().get(1), None | Some(b'0'..=b'9')) => {
                self.pos += 1;
                self.field_or_variable(TokenKind::Field)
            }
            b'.' | b'+' | b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.quoted_string(),
            b'`' => self.raw_string(),
            b'\'' => self.char_constant(),
            b'$' => {
                self.pos += 1;
                self.field_or_variable(TokenKind::Variable)
            }
            _ => self.symbol(first),
        }
    }

    fn symbol(&mut self, first: u8) -> Token {
        let (c, length) = self.rune();
        if !first.is_ascii() && is_alphanumeric(c) {
            return self.identifier();
        }
        self.pos += length;
        match first {
            b'=' => self.token(TokenKind::Assign),
            b':' => {
                if self.peek() != Some(b'=') {
                    return self.fail("expected :=");
                }
                self.pos += 1;
                self.token(TokenKind::Declare)
            }
            b'|' => self.token(TokenKind::Pipe),
            b'(' => {
                self.paren_depth += 1;
                self.token(TokenKind::LeftParen)
            }
            b')' if self.paren_depth == 0 => self.fail("unexpected right paren"),
            b')' => {
                self.paren_depth -= 1;
                self.token(TokenKind::RightParen)
            }
            b' '..=b'~' => self.token(TokenKind::Char),
            _ => self.fail(format!(
                "unrecognized character in action: {}",
                sharp_unicode(c)
            )),
        }
    }

    fn skip_alphanumeric(&mut self) {
        loop {
            while let Some(byte) = self.input.get(self.pos)
                && IS_NAME[usize::from(*byte)]
            {
                self.pos += 1;
            }
            match self.peek() {
                Some(0x80..) => {
                    let (c, length) = self.rune();
                    if !is_alphanumeric(c) {
                        return;
                    }
                    self.pos += length;
                }
                _ => return,
            }
        }
    }

    /// `atTerminator`: whether an identifier may end here.
    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some(b'.' | b',' | b'|' | b':' | b')' | b'(' | b' ' | b'\t' | b'\r' | b'\n') => {
                true
            }
            Some(b'}') => self.input.get(self.pos + 1) == Some(&b'}'),
            _ => false,
        }
    }

    fn bad_character(&mut self) -> Token {
        let (c, _) = self.rune();
        self.fail(format!("bad character {}", sharp_unicode(c)))
    }

    fn identifier(&mut self) -> Token {
        self.skip_alphanumeric();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let kind = match &self.input[self.start..self.pos] {
            b"if" => TokenKind::If,
            b"end" => TokenKind::End,
            b"else" => TokenKind::Else,
            b"with" => TokenKind::With,
            b"range" => TokenKind::Range,
            b"define" => TokenKind::Define,
            b"template" => TokenKind::Template,
            b"block" => TokenKind::Block,
            b"break" => TokenKind::Break,
            b"continue" => TokenKind::Continue,
            b"nil" => TokenKind::Nil,
            b"true" | b"false" => TokenKind::Bool,
            _ => TokenKind::Identifier,
        };
        self.token(kind)
    }

    /// Scans the name after a dot or a dollar sign.
    fn field_or_variable(&mut self, kind: TokenKind) -> Token {
        if self.at_terminator() {
            return self.token(match kind {
                TokenKind::Variable => TokenKind::Variable,
                _ => TokenKind::Dot,
            });
        }
        self.skip_alphanumeric();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.token(kind)
    }

    /// Scans to the closing quote; returns false at a newline or at the end of the input.
    fn reaches_closing(&mut self, quote: u8) -> bool {
        self.pos += 1;
        while let Some(byte) = self.peek() {
            self.pos += 1;
            match byte {
                b'\\' if !matches!(self.peek(), None | Some(b'\n')) => self.pos += 1,
                b'\\' | b'\n' => return false,
                _ if byte == quote => return true,
                _ => {}
            }
        }
        false
    }

    fn quoted_string(&mut self) -> Token {
        if self.reaches_closing(b'"') {
            self.token(TokenKind::String)
        } else {
            self.fail("unterminated quoted string")
        }
    }

    fn char_constant(&mut self) -> Token {
        if self.reaches_closing(b'\'') {
            self.token(TokenKind::CharConstant)
        } else {
            self.fail("unterminated character constant")
        }
    }

    fn raw_string(&mut self) -> Token {
        let Some(length) = memchr(b'`', &self.input[self.pos + 1..]) else {
            return self.fail("unterminated raw quoted string");
        };
        self.pos += length + 2;
        self.token(TokenKind::RawString)
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some(b'+' | b'-')) {
            if !self.scan_number() || self.input.get(self.pos - 1) != Some(&b'i') {
                return self.bad_number();
            }
            return self.token(TokenKind::Complex);
        }
        self.token(TokenKind::Number)
    }

    fn bad_number(&mut self) -> Token {
        let text = quote_bytes(&self.input[self.start..self.pos]);
        self.fail(format!("bad number syntax: {text}"))
    }

    /// `scanNumber`: scans what looks like a number; the parser decides whether it is one.
    fn scan_number(&mut self) -> bool {
        self.accept(b"+-");
        let mut digits: &[u8] = DECIMAL;
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = b"0123456789abcdefABCDEF_";
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        let exponent: &[u8] = match digits.len() {
            11 => b"eE",
            23 => b"pP",
            _ => b"",
        };
        if self.accept(exponent) {
            self.accept(b"+-");
            self.accept_run(DECIMAL);
        }
        self.accept(b"i");
        let (c, length) = self.rune();
        if length > 0 && is_alphanumeric(c) {
            self.pos += length;
            return false;
        }
        true
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| set.contains(&byte));
        self.pos += usize::from(found);
        found
    }

    fn accept_run(&mut self, set: &[u8]) {
        while self.accept(set) {}
    }
}

/// The ASCII bytes of identifiers.
static IS_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    table
};

const DECIMAL: &[u8] = b"0123456789_";

fn find_left_delim(input: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr(b'{', input.get(at..)?)?;
        if input.get(at + 1) == Some(&b'{') {
            return Some(at);
        }
        at += 1;
    }
}

/// `isSpace` of text/template.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn has_left_trim_marker(after_delim: &[u8]) -> bool {
    matches!(after_delim, [b'-', space, ..] if is_space(*space))
}

trait TrimGo {
    fn trim_ascii_start_go(&self) -> &[u8];
    fn trim_ascii_end_go(&self) -> &[u8];
}

impl TrimGo for [u8] {
    fn trim_ascii_start_go(&self) -> &[u8] {
        let spaces = self.iter().take_while(|byte| is_space(**byte)).count();
        &self[spaces..]
    }

    fn trim_ascii_end_go(&self) -> &[u8] {
        let spaces = self.iter().rev().take_while(|byte| is_space(**byte));
        &self[..self.len() - spaces.count()]
    }
}

/// `isAlphaNumeric`: whether a rune may be part of an identifier.
fn is_alphanumeric(c: char) -> bool {
    c == '_' || unicode::is_letter(c) || unicode::is_digit(c)
}
