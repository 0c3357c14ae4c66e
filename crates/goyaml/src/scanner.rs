//! The scanner of go-yaml v2 (YAML 1.1).
//!
//! Tokens are produced on demand, because the input after the end of a document must not be scanned. Whether a scalar or
//! a flow collection is a simple key is known only at the `:`, so tokens are queued until then.
//!
//! `EXACT` scanners follow each request of go-yaml to its reader, for inputs with irregular characters. The others assume
//! that `\n` is the only line break and that all characters are valid.

mod block;
mod character;
mod fetch;
mod line;
mod plain;
mod quoted;
mod reader;
mod tag;

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::error::Error;
use crate::source::Source;
use reader::Reader;

pub(crate) use line::{Content, ItemLine, KeyLine};

/// The maximum nesting of block collections, and of flow collections.
const MAX_DEPTH: usize = 10_000;

/// The maximum length of a simple key in characters.
const MAX_SIMPLE_KEY: usize = 1024;

#[derive(Debug, Clone)]
pub(crate) enum TokenKind<'a> {
    StreamStart,
    StreamEnd,
    VersionDirective(u8, u8),
    TagDirective(Cow<'a, str>, Cow<'a, [u8]>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// Handle and suffix.
    Tag(Cow<'a, str>, Cow<'a, [u8]>),
    Scalar {
        text: Cow<'a, str>,
        plain: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    /// The line of its start, starting at zero.
    pub(crate) line: usize,
}

/// The possible start of a simple key.
#[derive(Debug, Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    /// Whether the token must stay in the queue until it is known whether it is a key.
    holds: bool,
    token: usize,
    position: usize,
    line: usize,
    column: usize,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they change independently of each other"
)]
pub(crate) struct Scanner<'a, const EXACT: bool> {
    text: &'a str,
    bytes: &'a [u8],
    reader: Reader<'a>,
    position: usize,
    line: usize,
    line_start: usize,
    started: bool,
    tokens: VecDeque<Token<'a>>,
    /// The number of tokens taken from the queue.
    taken: usize,
    /// Whether the first token of the queue can be taken.
    ready: bool,
    /// The column of the innermost block collection.
    indent: isize,
    indents: Vec<isize>,
    simple_key_allowed: bool,
    /// One for each level of flow collections, and one for the block context.
    simple_keys: Vec<SimpleKey>,
    /// Whether multi-line scalars may be discarded; they are replaced by a placeholder string.
    pub(crate) discard: bool,
}

impl<'a, const EXACT: bool> Scanner<'a, EXACT> {
    pub(crate) fn new(source: &'a Source<'_>) -> Self {
        let text: &'a str = &source.text;
        Self {
            text,
            bytes: text.as_bytes(),
            reader: Reader::new(source),
            position: 0,
            line: 0,
            line_start: 0,
            started: false,
            tokens: VecDeque::with_capacity(16),
            taken: 0,
            ready: false,
            indent: -1,
            indents: Vec::with_capacity(16),
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
            discard: false,
        }
    }

    /// The next token, which remains in the queue.
    pub(crate) fn peek(&mut self) -> Result<&Token<'a>, Error> {
        const END: &Token<'static> = &Token {
            kind: TokenKind::StreamEnd,
            line: 0,
        };
        if !self.ready {
            self.fetch_more()?;
            self.ready = true;
        }
        Ok(self.tokens.front().unwrap_or(END))
    }

    /// Takes the token that [`Self::peek`] returned.
    pub(crate) fn take(&mut self) -> Option<Token<'a>> {
        self.ready = false;
        self.taken += 1;
        self.tokens.pop_front()
    }

    fn fetch_more(&mut self) -> Result<(), Error> {
        while self.tokens.is_empty() || self.first_may_be_simple_key()? {
            self.fetch_next()?;
        }
        Ok(())
    }

    /// Whether the first token of the queue may still become a simple key.
    fn first_may_be_simple_key(&mut self) -> Result<bool, Error> {
        let level = self
            .simple_keys
            .partition_point(|key| key.token < self.taken);
        match self.simple_keys.get(level) {
            Some(key) if key.holds && key.token == self.taken => self.is_simple_key_valid(level),
            _ => Ok(false),
        }
    }

    fn in_flow(&self) -> bool {
        self.simple_keys.len() > 1
    }

    fn column(&self) -> usize {
        self.position - self.line_start
    }

    fn is_at_indent(&self) -> bool {
        usize::try_from(self.indent) == Ok(self.column())
    }

    /// An error at the current position.
    #[cold]
    fn error(&self, problem: &'static str) -> Error {
        Error::Syntax {
            line: (self.line != 0).then_some(self.line + 1),
            problem,
        }
    }

    fn push(&mut self, kind: TokenKind<'a>, line: usize) {
        self.tokens.push_back(Token { kind, line });
    }

    /// Inserts a token before the one with this number, or at the end if that one has been taken.
    fn insert(&mut self, number: usize, kind: TokenKind<'a>, line: usize) {
        let token = Token { kind, line };
        match number.checked_sub(self.taken) {
            Some(at) if at < self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    fn current_key(&mut self) -> &mut SimpleKey {
        if self.simple_keys.is_empty() {
            self.simple_keys.push(SimpleKey::default());
        }
        let last = self.simple_keys.len() - 1;
        &mut self.simple_keys[last]
    }

    fn is_simple_key_valid(&mut self, level: usize) -> Result<bool, Error> {
        let key = self.simple_keys[level];
        if !key.possible {
            return Ok(false);
        }
        if key.line == self.line && !self.is_too_long(key.position) {
            return Ok(true);
        }
        if key.required {
            return Err(self.error("could not find expected ':'"));
        }
        self.simple_keys[level].possible = false;
        Ok(false)
    }

    fn is_too_long(&self, start: usize) -> bool {
        self.position - start > MAX_SIMPLE_KEY
            && self.text[start..self.position].chars().count() > MAX_SIMPLE_KEY
    }

    fn save_simple_key(&mut self) -> Result<(), Error> {
        if self.simple_key_allowed {
            let key = SimpleKey {
                possible: true,
                required: !self.in_flow() && self.is_at_indent(),
                holds: true,
                token: self.taken + self.tokens.len(),
                position: self.position,
                line: self.line,
                column: self.column(),
            };
            self.remove_simple_key()?;
            *self.current_key() = key;
        }
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Result<(), Error> {
        let key = self.current_key();
        if key.possible {
            if key.required {
                return Err(self.error("could not find expected ':'"));
            }
            key.possible = false;
            key.holds = false;
        }
        Ok(())
    }

    fn increase_flow_level(&mut self) -> Result<(), Error> {
        self.simple_keys.push(SimpleKey {
            token: self.taken + self.tokens.len(),
            position: self.position,
            line: self.line,
            column: self.column(),
            ..SimpleKey::default()
        });
        if self.simple_keys.len() - 1 > MAX_DEPTH {
            return Err(self.error("exceeded max depth of 10000"));
        }
        Ok(())
    }

    fn decrease_flow_level(&mut self) {
        if !self.in_flow() {
            return;
        }
        // A level without a key has the number of its own first token, which may be a possible key of the level below.
        // go-yaml then releases that token: `[]: x` is an empty list, not a map.
        if let Some(closed) = self.simple_keys.pop() {
            for key in self.simple_keys.iter_mut().rev() {
                if key.token != closed.token {
                    break;
                }
                key.holds = false;
            }
        }
    }

    /// Opens a block collection if `column` is deeper than the current one.
    fn roll_indent(
        &mut self,
        column: usize,
        number: Option<usize>,
        kind: TokenKind<'a>,
        line: usize,
    ) -> Result<(), Error> {
        let column = isize::try_from(column).unwrap_or(isize::MAX);
        if self.in_flow() || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return Err(self.error("exceeded max depth of 10000"));
        }
        match number {
            Some(number) => self.insert(number, kind, line),
            None => self.push(kind, line),
        }
        Ok(())
    }

    /// Closes the block collections that are deeper than `column`.
    fn unroll_indent(&mut self, column: isize) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.push(TokenKind::BlockEnd, self.line);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}
