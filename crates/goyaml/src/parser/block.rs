//! Block collections, with a fast path for common lines.

use super::{Allowed, Event, EventResult, NextToken, Parser, State, plain_scalar, quoted_scalar};
use crate::error::Error;
use crate::scanner::{Content, ItemLine, KeyLine};

impl<'a, const EXACT: bool> Parser<'a, EXACT> {
    fn fast_item(&mut self, indentless: bool) -> Result<ItemLine<'a>, Error> {
        if self.tracks_lines {
            return Ok(ItemLine::Unknown);
        }
        self.scanner.read_item(indentless)
    }

    fn fast_block_key(&mut self) -> KeyLine<'a> {
        if self.tracks_lines {
            return KeyLine::Unknown;
        }
        self.scanner.read_key()
    }

    pub(super) fn block_sequence_entry(&mut self) -> EventResult<'a> {
        match self.fast_item(false)? {
            ItemLine::Item(content) => {
                return self.content(content, State::BlockSequenceEntry);
            }
            ItemLine::End => {
                self.pop_state();
                return Ok(Event::SequenceEnd);
            }
            ItemLine::Unknown => {}
        }
        match self.peek()? {
            NextToken::BlockEntry => {
                self.take();
                self.item_node(State::BlockSequenceEntry)
            }
            NextToken::BlockEnd => {
                self.take();
                self.pop_state();
                Ok(Event::SequenceEnd)
            }
            _ => Err(self.error("did not find expected '-' indicator")),
        }
    }

    pub(super) fn indentless_sequence_entry(&mut self) -> EventResult<'a> {
        match self.fast_item(true)? {
            ItemLine::Item(content) => {
                return self.content(content, State::IndentlessSequenceEntry);
            }
            ItemLine::End => {
                self.pop_state();
                return Ok(Event::SequenceEnd);
            }
            ItemLine::Unknown => {}
        }
        if self.peek()? != NextToken::BlockEntry {
            self.pop_state();
            return Ok(Event::SequenceEnd);
        }
        self.take();
        self.item_node(State::IndentlessSequenceEntry)
    }

    pub(super) fn block_mapping_key(&mut self) -> EventResult<'a> {
        match self.fast_block_key() {
            KeyLine::Key(key) => {
                self.state = State::BlockMappingValueContent;
                return Ok(plain_scalar(key));
            }
            KeyLine::End => {
                self.pop_state();
                return Ok(Event::MappingEnd);
            }
            KeyLine::Unknown => {}
        }
        match self.peek()? {
            NextToken::Key => {
                self.take();
                match self.peek()? {
                    NextToken::Key | NextToken::Value | NextToken::BlockEnd => {
                        Ok(self.empty_then(State::BlockMappingValue))
                    }
                    _ => self.node_then(Allowed::BlockOrIndentless, State::BlockMappingValue),
                }
            }
            NextToken::BlockEnd => {
                self.take();
                self.pop_state();
                Ok(Event::MappingEnd)
            }
            _ => Err(self.error("did not find expected key")),
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> EventResult<'a> {
        if self.peek()? != NextToken::Value {
            return Ok(self.empty_then(State::BlockMappingKey));
        }
        self.take();
        self.value_node()
    }

    /// The value of a key that the fast path has consumed with its `:`.
    pub(super) fn block_mapping_value_content(&mut self) -> EventResult<'a> {
        let content = self.scanner.read_value()?;
        self.content(content, State::BlockMappingKey)
    }

    /// The event for content that the fast path has consumed; `state` follows it.
    fn content(&mut self, content: Content<'a>, state: State) -> EventResult<'a> {
        let (inner, event) = match content {
            Content::Plain(text) => {
                self.state = state;
                return Ok(plain_scalar(text));
            }
            Content::Quoted(text) => {
                self.state = state;
                return Ok(quoted_scalar(text));
            }
            Content::Empty => return Ok(self.empty_then(state)),
            Content::Unknown if state == State::BlockMappingKey => return self.value_node(),
            Content::Unknown => return self.item_node(state),
            Content::Mapping => (State::BlockMappingKey, Event::MappingStart(None)),
            Content::Sequence => (State::BlockSequenceEntry, Event::SequenceStart(None)),
            Content::Indentless => (State::IndentlessSequenceEntry, Event::SequenceStart(None)),
        };
        self.states.push(state);
        self.state = inner;
        Ok(event)
    }

    /// The node after a `:`.
    fn value_node(&mut self) -> EventResult<'a> {
        match self.peek()? {
            NextToken::Key | NextToken::Value | NextToken::BlockEnd => {
                Ok(self.empty_then(State::BlockMappingKey))
            }
            _ => self.node_then(Allowed::BlockOrIndentless, State::BlockMappingKey),
        }
    }

    /// The node after a dash.
    fn item_node(&mut self, state: State) -> EventResult<'a> {
        match (self.peek()?, state) {
            (NextToken::BlockEntry | NextToken::BlockEnd, _)
            | (NextToken::Key | NextToken::Value, State::IndentlessSequenceEntry) => {
                Ok(self.empty_then(state))
            }
            _ => self.node_then(Allowed::Block, state),
        }
    }
}
