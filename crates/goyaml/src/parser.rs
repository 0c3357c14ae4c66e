//! The parser of go-yaml v2: tokens to events, by a state machine with its own stack.

mod block;
mod flow;

use std::borrow::Cow;

use crate::error::Error;
use crate::scanner::{Scanner, Token, TokenKind};
use crate::source::Source;

#[derive(Debug)]
pub(crate) enum Event<'a> {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(&'a str),
    Scalar(Scalar<'a>),
    /// With its anchor.
    SequenceStart(Option<&'a str>),
    SequenceEnd,
    /// With its anchor.
    MappingStart(Option<&'a str>),
    MappingEnd,
}

#[derive(Debug)]
pub(crate) struct Scalar<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) anchor: Option<&'a str>,
    pub(crate) tag: Option<Cow<'a, [u8]>>,
    /// Whether the type is resolved from the text.
    pub(crate) implicit: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    StreamStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    /// The fast path has consumed the `:` with the key.
    BlockMappingValueContent,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Which nodes are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Flow,
    Block,
    /// Also a sequence whose dashes are in the column of the enclosing mapping.
    BlockOrIndentless,
}

/// The kind of the next token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextToken {
    StreamEnd,
    VersionDirective,
    TagDirective,
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
    Alias,
    Anchor,
    Tag,
    Scalar,
    StreamStart,
}

#[derive(Debug)]
pub(crate) struct Parser<'a, const EXACT: bool> {
    pub(crate) scanner: Scanner<'a, EXACT>,
    state: State,
    states: Vec<State>,
    tag_directives: Vec<(Cow<'a, str>, Cow<'a, [u8]>)>,
    /// Whether to track the lines of nodes, which the fast path does not support.
    tracks_lines: bool,
    /// The line of the last consumed token, starting at zero.
    token_line: usize,
    /// The first line of the last node, starting at zero.
    node_line: usize,
}

type EventResult<'a> = Result<Event<'a>, Error>;

/// An anchor and a tag.
type Properties<'a> = (Option<&'a str>, Option<Cow<'a, [u8]>>);

impl<'a, const EXACT: bool> Parser<'a, EXACT> {
    pub(crate) fn new(source: &'a Source<'_>) -> Self {
        Self {
            scanner: Scanner::new(source),
            state: State::StreamStart,
            states: Vec::with_capacity(32),
            tag_directives: Vec::new(),
            tracks_lines: false,
            token_line: 0,
            node_line: 0,
        }
    }

    /// A parser that tracks the lines of nodes.
    pub(crate) fn with_lines(source: &'a Source<'_>) -> Self {
        Self {
            tracks_lines: true,
            ..Self::new(source)
        }
    }

    /// The first line of the last node, starting at zero. Valid only with [`Self::with_lines`].
    pub(crate) fn line(&self) -> usize {
        self.node_line
    }

    fn take(&mut self) -> Option<Token<'a>> {
        let token = self.scanner.take();
        if let Some(token) = &token {
            self.token_line = token.line;
        }
        token
    }

    pub(crate) fn next(&mut self) -> EventResult<'a> {
        match self.state {
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValueContent => self.block_mapping_value_content(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::BlockMappingFirstKey => {
                self.take();
                self.block_mapping_key()
            }
            State::BlockSequenceFirstEntry => {
                self.take();
                self.block_sequence_entry()
            }
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockNode => self.node(Allowed::Block),
            State::StreamStart => {
                self.peek()?;
                self.take();
                self.document_start(true)
            }
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::FlowSequenceFirstEntry => {
                self.take();
                self.flow_sequence_entry(true)
            }
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_entry_mapping_key(),
            State::FlowSequenceEntryMappingValue => self.flow_sequence_entry_mapping_value(),
            State::FlowSequenceEntryMappingEnd => {
                self.peek()?;
                self.state = State::FlowSequenceEntry;
                Ok(Event::MappingEnd)
            }
            State::FlowMappingFirstKey => {
                self.take();
                self.flow_mapping_key(true)
            }
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(false),
            State::FlowMappingEmptyValue => self.flow_mapping_value(true),
            State::End => Ok(Event::StreamEnd),
        }
    }

    fn peek(&mut self) -> Result<NextToken, Error> {
        Ok(match self.scanner.peek()?.kind {
            TokenKind::StreamStart => NextToken::StreamStart,
            TokenKind::StreamEnd => NextToken::StreamEnd,
            TokenKind::VersionDirective(..) => NextToken::VersionDirective,
            TokenKind::TagDirective(..) => NextToken::TagDirective,
            TokenKind::DocumentStart => NextToken::DocumentStart,
            TokenKind::DocumentEnd => NextToken::DocumentEnd,
            TokenKind::BlockSequenceStart => NextToken::BlockSequenceStart,
            TokenKind::BlockMappingStart => NextToken::BlockMappingStart,
            TokenKind::BlockEnd => NextToken::BlockEnd,
            TokenKind::FlowSequenceStart => NextToken::FlowSequenceStart,
            TokenKind::FlowSequenceEnd => NextToken::FlowSequenceEnd,
            TokenKind::FlowMappingStart => NextToken::FlowMappingStart,
            TokenKind::FlowMappingEnd => NextToken::FlowMappingEnd,
            TokenKind::BlockEntry => NextToken::BlockEntry,
            TokenKind::FlowEntry => NextToken::FlowEntry,
            TokenKind::Key => NextToken::Key,
            TokenKind::Value => NextToken::Value,
            TokenKind::Alias(_) => NextToken::Alias,
            TokenKind::Anchor(_) => NextToken::Anchor,
            TokenKind::Tag(..) => NextToken::Tag,
            TokenKind::Scalar { .. } => NextToken::Scalar,
        })
    }

    /// An error at the next token.
    #[cold]
    fn error(&mut self, problem: &'static str) -> Error {
        let line = self.scanner.peek().map_or(0, |token| token.line);
        syntax_error(line, problem)
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn node_then(&mut self, allowed: Allowed, state: State) -> EventResult<'a> {
        self.states.push(state);
        self.node(allowed)
    }

    fn empty_then(&mut self, state: State) -> Event<'a> {
        self.node_line = self.token_line;
        self.state = state;
        plain_scalar("")
    }

    fn document_start(&mut self, implicit: bool) -> EventResult<'a> {
        let mut next = self.peek()?;
        while !implicit && next == NextToken::DocumentEnd {
            self.take();
            next = self.peek()?;
        }
        let is_explicit = matches!(
            next,
            NextToken::VersionDirective | NextToken::TagDirective | NextToken::DocumentStart
        );
        if next == NextToken::StreamEnd {
            self.take();
            self.state = State::End;
            return Ok(Event::StreamEnd);
        }
        self.process_directives()?;
        self.states.push(State::DocumentEnd);
        if implicit && !is_explicit {
            self.state = State::BlockNode;
            return Ok(Event::DocumentStart);
        }
        if self.peek()? != NextToken::DocumentStart {
            return Err(self.error("did not find expected <document start>"));
        }
        self.take();
        self.state = State::DocumentContent;
        Ok(Event::DocumentStart)
    }

    fn process_directives(&mut self) -> Result<(), Error> {
        let mut has_version = false;
        loop {
            let token = self.scanner.peek()?;
            let line = token.line;
            match &token.kind {
                TokenKind::VersionDirective(major, minor) => {
                    if has_version {
                        return Err(syntax_error(line, "found duplicate %YAML directive"));
                    }
                    if (*major, *minor) != (1, 1) {
                        return Err(syntax_error(line, "found incompatible YAML document"));
                    }
                    has_version = true;
                }
                TokenKind::TagDirective(handle, prefix) => {
                    if self.tag_directives.iter().any(|known| known.0 == *handle) {
                        return Err(syntax_error(line, "found duplicate %TAG directive"));
                    }
                    self.tag_directives.push((handle.clone(), prefix.clone()));
                }
                _ => break,
            }
            self.take();
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.tag_directives.iter().any(|known| known.0 == handle) {
                self.tag_directives
                    .push((handle.into(), prefix.as_bytes().into()));
            }
        }
        Ok(())
    }

    fn document_content(&mut self) -> EventResult<'a> {
        match self.peek()? {
            NextToken::VersionDirective
            | NextToken::TagDirective
            | NextToken::DocumentStart
            | NextToken::DocumentEnd
            | NextToken::StreamEnd => {
                self.pop_state();
                Ok(plain_scalar(""))
            }
            _ => self.node(Allowed::Block),
        }
    }

    fn document_end(&mut self) -> EventResult<'a> {
        if self.peek()? == NextToken::DocumentEnd {
            self.take();
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok(Event::DocumentEnd)
    }

    fn node(&mut self, allowed: Allowed) -> EventResult<'a> {
        let mut next = self.peek()?;
        self.node_line = self.scanner.peek()?.line;
        let (mut anchor, mut tag) = (None, None);
        if matches!(next, NextToken::Anchor | NextToken::Tag) {
            (anchor, tag) = self.properties()?;
            next = self.peek()?;
        }
        match next {
            NextToken::Scalar => Ok(self.scalar(anchor, tag)),
            NextToken::Alias if anchor.is_none() && tag.is_none() => {
                self.pop_state();
                match self.take().map(|token| token.kind) {
                    Some(TokenKind::Alias(name)) => Ok(Event::Alias(name)),
                    _ => Ok(Event::StreamEnd),
                }
            }
            NextToken::BlockEntry if allowed == Allowed::BlockOrIndentless => {
                self.state = State::IndentlessSequenceEntry;
                Ok(Event::SequenceStart(anchor))
            }
            NextToken::FlowSequenceStart => {
                self.state = State::FlowSequenceFirstEntry;
                Ok(Event::SequenceStart(anchor))
            }
            NextToken::FlowMappingStart => {
                self.state = State::FlowMappingFirstKey;
                Ok(Event::MappingStart(anchor))
            }
            NextToken::BlockSequenceStart if allowed != Allowed::Flow => {
                self.state = State::BlockSequenceFirstEntry;
                Ok(Event::SequenceStart(anchor))
            }
            NextToken::BlockMappingStart if allowed != Allowed::Flow => {
                self.state = State::BlockMappingFirstKey;
                Ok(Event::MappingStart(anchor))
            }
            _ if anchor.is_some() || tag.is_some() => {
                self.pop_state();
                Ok(Event::Scalar(Scalar {
                    text: Cow::Borrowed(""),
                    anchor,
                    implicit: tag.is_none(),
                    tag,
                }))
            }
            _ => Err(self.error("did not find expected node content")),
        }
    }

    fn scalar(&mut self, anchor: Option<&'a str>, tag: Option<Cow<'a, [u8]>>) -> Event<'a> {
        self.pop_state();
        let Some(TokenKind::Scalar { text, plain }) = self.take().map(|token| token.kind) else {
            return Event::StreamEnd;
        };
        let implicit = match tag.as_deref() {
            None => plain,
            Some(tag) => tag == b"!",
        };
        Event::Scalar(Scalar {
            text,
            anchor,
            tag,
            implicit,
        })
    }

    /// An anchor and a tag in either order; each is optional.
    fn properties(&mut self) -> Result<Properties<'a>, Error> {
        let mut anchor = None;
        let mut tag = None;
        let mut problem_line = 0;
        for _ in 0..2 {
            match self.peek()? {
                NextToken::Anchor if anchor.is_none() => {
                    if let Some(TokenKind::Anchor(name)) = self.take().map(|t| t.kind) {
                        anchor = Some(name);
                    }
                }
                NextToken::Tag if tag.is_none() => {
                    if let Some(token) = self.take()
                        && let TokenKind::Tag(handle, suffix) = token.kind
                    {
                        problem_line = token.line;
                        tag = Some((handle, suffix));
                    }
                }
                _ => break,
            }
        }
        // go-yaml scans the next token before it resolves the tag.
        self.peek()?;
        let tag = match tag {
            None => None,
            Some((handle, suffix)) => {
                let known = self.resolve_tag(&handle, suffix);
                Some(
                    known
                        .ok_or_else(|| syntax_error(problem_line, "found undefined tag handle"))?,
                )
            }
        };
        Ok((anchor, tag.filter(|tag| !tag.is_empty())))
    }

    fn resolve_tag(&self, handle: &str, suffix: Cow<'a, [u8]>) -> Option<Cow<'a, [u8]>> {
        if handle.is_empty() {
            return Some(suffix);
        }
        let (_, prefix) = self.tag_directives.iter().find(|known| known.0 == handle)?;
        let tag = [prefix, &*suffix].concat();
        (!tag.is_empty()).then_some(Cow::Owned(tag))
    }
}

fn plain_scalar<'a>(text: impl Into<Cow<'a, str>>) -> Event<'a> {
    Event::Scalar(Scalar {
        text: text.into(),
        anchor: None,
        tag: None,
        implicit: true,
    })
}

fn quoted_scalar(text: Cow<'_, str>) -> Event<'_> {
    Event::Scalar(Scalar {
        text,
        anchor: None,
        tag: None,
        implicit: false,
    })
}

/// Unlike the scanner, the parser reports lines starting at zero, and omits line zero.
fn syntax_error(line: usize, problem: &'static str) -> Error {
    Error::Syntax {
        line: (line != 0).then_some(line),
        problem,
    }
}
