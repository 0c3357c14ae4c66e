//! Splits the text of an expression into tokens.

use crate::source::{Issues, Source};

/// What a token is. Operators and punctuation are identified by their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    End,
    Symbol(&'static str),
    Ident,
    EscapedIdent,
    Int,
    Uint,
    Double,
    String,
    Bytes,
}

/// A token: its kind, and where it starts and ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Longer symbols come before their prefixes.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%", "<", ">",
];

const KEYWORDS: [&str; 4] = ["in", "true", "false", "null"];

/// Splits a text into tokens; the last one is the end. What is no token is reported and skipped.
pub(crate) fn tokens(source: &Source, issues: &mut Issues) -> Vec<Token> {
    let mut lexer = Lexer {
        text: &source.text,
        at: 0,
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_hidden();
        let start = lexer.at;
        match lexer.token() {
            Ok(kind) => {
                let end = lexer.at;
                tokens.push(Token { kind, start, end });
                if kind == TokenKind::End {
                    return tokens;
                }
            }
            Err(end) => {
                let end = end.min(source.text.len());
                let text: String = source
                    .text
                    .get(start..end)
                    .unwrap_or_default()
                    .iter()
                    .collect();
                let text = text
                    .replace('\t', "\\t")
                    .replace('\n', "\\n")
                    .replace('\r', "\\r");
                let message = format!("Syntax error: token recognition error at: '{text}'");
                issues.report(source, source.location(start), message);
                lexer.at = end.max(start.saturating_add(1));
            }
        }
    }
}

struct Lexer<'s> {
    text: &'s [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at.saturating_add(ahead)).copied()
    }

    fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    fn skip_while(&mut self, is_part: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&is_part) {
            self.skip(1);
        }
    }

    fn starts_with(&self, symbol: &str) -> bool {
        symbol
            .chars()
            .enumerate()
            .all(|(i, c)| self.peek(i) == Some(c))
    }

    fn skip_hidden(&mut self) {
        loop {
            self.skip_while(|c| matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}'));
            if !self.starts_with("//") {
                return;
            }
            self.skip_while(|c| c != '\n');
        }
    }

    /// The next token, or where the text that is no token ends.
    fn token(&mut self) -> Result<TokenKind, usize> {
        let Some(first) = self.peek(0) else {
            return Ok(TokenKind::End);
        };
        if let Some(kind) = self.string_token() {
            return kind;
        }
        let starts_fraction = first == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit());
        if first.is_ascii_digit() || starts_fraction {
            return Ok(self.number());
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(self.ident());
        }
        if first == '`' {
            return self.escaped_ident();
        }
        let symbol = SYMBOLS.iter().find(|symbol| self.starts_with(symbol));
        // The message includes the character at which a longer symbol ends to match.
        let is_prefix = matches!(first, '=' | '&' | '|');
        let length = if is_prefix { 2 } else { 1 };
        let symbol = symbol.ok_or_else(|| self.at.saturating_add(length))?;
        self.skip(symbol.len());
        Ok(TokenKind::Symbol(symbol))
    }

    fn ident(&mut self) -> TokenKind {
        let start = self.at;
        self.skip_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let text: String = self
            .text
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect();
        let keyword = KEYWORDS.iter().find(|keyword| **keyword == text);
        keyword.map_or(TokenKind::Ident, |keyword| TokenKind::Symbol(keyword))
    }

    fn escaped_ident(&mut self) -> Result<TokenKind, usize> {
        self.skip(1);
        let start = self.at;
        self.skip_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '));
        if self.peek(0) == Some('`') && self.at > start {
            self.skip(1);
            Ok(TokenKind::EscapedIdent)
        } else {
            Err(self.at.saturating_add(1))
        }
    }

    fn number(&mut self) -> TokenKind {
        if self.starts_with("0x") && self.peek(2).is_some_and(|c| c.is_ascii_hexdigit()) {
            self.skip(2);
            self.skip_while(|c| c.is_ascii_hexdigit());
            return self.integer();
        }
        self.skip_while(|c| c.is_ascii_digit());
        let has_fraction =
            self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit());
        if has_fraction {
            self.skip(1);
            self.skip_while(|c| c.is_ascii_digit());
        }
        let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
        let has_exponent = matches!(self.peek(0), Some('e' | 'E'))
            && self
                .peek(sign.saturating_add(1))
                .is_some_and(|c| c.is_ascii_digit());
        if has_exponent {
            self.skip(sign.saturating_add(1));
            self.skip_while(|c| c.is_ascii_digit());
        }
        if has_fraction || has_exponent {
            TokenKind::Double
        } else {
            self.integer()
        }
    }

    fn integer(&mut self) -> TokenKind {
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.skip(1);
            TokenKind::Uint
        } else {
            TokenKind::Int
        }
    }

    /// A string or bytes, if the text starts like one.
    fn string_token(&mut self) -> Option<Result<TokenKind, usize>> {
        let is_bytes = matches!(self.peek(0), Some('b' | 'B'));
        let raw_at = usize::from(is_bytes);
        let is_raw = matches!(self.peek(raw_at), Some('r' | 'R'));
        let prefix = raw_at.saturating_add(usize::from(is_raw));
        let quote = self.peek(prefix).filter(|c| matches!(c, '"' | '\''))?;
        self.skip(prefix);
        let kind = if is_bytes {
            TokenKind::Bytes
        } else {
            TokenKind::String
        };
        let start = self.at;
        if self.peek(1) == Some(quote) && self.peek(2) == Some(quote) {
            self.skip(3);
            if self.string_end(quote, true, is_raw).is_ok() {
                return Some(Ok(kind));
            }
            // Without an end, the first two quotes are an empty string.
            self.at = start;
        }
        self.skip(1);
        let end = self.string_end(quote, false, is_raw);
        if end.is_err() && prefix > 0 {
            // The prefix is an identifier.
            self.at = start.saturating_sub(prefix);
            return None;
        }
        Some(end.map(|()| kind))
    }

    fn string_end(&mut self, quote: char, triple: bool, is_raw: bool) -> Result<(), usize> {
        loop {
            let Some(next) = self.peek(0) else {
                return Err(self.at);
            };
            let closes = next == quote
                && (!triple || (self.peek(1) == Some(quote) && self.peek(2) == Some(quote)));
            if closes {
                self.skip(if triple { 3 } else { 1 });
                return Ok(());
            }
            if !triple && matches!(next, '\n' | '\r') {
                return Err(self.at.saturating_add(1));
            }
            if next == '\\' && !is_raw {
                self.escape()?;
            } else {
                self.skip(1);
            }
        }
    }

    fn escape(&mut self) -> Result<(), usize> {
        let digits = match self.peek(1) {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => 0,
            Some('x' | 'X') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some('0'..='3') => {
                let is_octal = |c: Option<char>| c.is_some_and(|c| matches!(c, '0'..='7'));
                if !is_octal(self.peek(2)) || !is_octal(self.peek(3)) {
                    return Err(self.at.saturating_add(3));
                }
                self.skip(4);
                return Ok(());
            }
            _ => return Err(self.at.saturating_add(2)),
        };
        self.skip(2);
        for _ in 0..digits {
            if !self.peek(0).is_some_and(|c| c.is_ascii_hexdigit()) {
                return Err(self.at.saturating_add(1));
            }
            self.skip(1);
        }
        Ok(())
    }
}
