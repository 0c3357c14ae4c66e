//! The grammar of block collections, with a short way for common lines.

use super::{Allowed, Event, Events, Next, Outcome, State, plain_scalar, quoted_scalar};
use crate::error::Error;
use crate::scanner::{Content, ItemLine, KeyLine};

impl<'a, const EXACT: bool> Events<'a, EXACT> {
    fn short_item(&mut self, indentless: bool) -> Result<ItemLine<'a>, Error> {
        if self.tells_lines {
            return Ok(ItemLine::Unknown);
        }
        self.scanner.read_item(indentless)
    }

    fn short_key(&mut self) -> KeyLine<'a> {
        if self.tells_lines {
            return KeyLine::Unknown;
        }
        self.scanner.read_key()
    }

    pub(super) fn block_sequence_entry(&mut self) -> Outcome<'a> {
        match self.short_item(false)? {
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
            Next::BlockEntry => {
                self.take();
                self.item_node(State::BlockSequenceEntry)
            }
            Next::BlockEnd => {
                self.take();
                self.pop_state();
                Ok(Event::SequenceEnd)
            }
            _ => Err(self.error("did not find expected '-' indicator")),
        }
    }

    pub(super) fn indentless_sequence_entry(&mut self) -> Outcome<'a> {
        match self.short_item(true)? {
            ItemLine::Item(content) => {
                return self.content(content, State::IndentlessSequenceEntry);
            }
            ItemLine::End => {
                self.pop_state();
                return Ok(Event::SequenceEnd);
            }
            ItemLine::Unknown => {}
        }
        if self.peek()? != Next::BlockEntry {
            self.pop_state();
            return Ok(Event::SequenceEnd);
        }
        self.take();
        self.item_node(State::IndentlessSequenceEntry)
    }

    pub(super) fn block_mapping_key(&mut self) -> Outcome<'a> {
        match self.short_key() {
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
            Next::Key => {
                self.take();
                match self.peek()? {
                    Next::Key | Next::Value | Next::BlockEnd => {
                        Ok(self.empty_then(State::BlockMappingValue))
                    }
                    _ => self.node_then(Allowed::BlockOrIndentless, State::BlockMappingValue),
                }
            }
            Next::BlockEnd => {
                self.take();
                self.pop_state();
                Ok(Event::MappingEnd)
            }
            _ => Err(self.error("did not find expected key")),
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> Outcome<'a> {
        if self.peek()? != Next::Value {
            return Ok(self.empty_then(State::BlockMappingKey));
        }
        self.take();
        self.value_node()
    }

    /// The value after a key that was read with its `:`.
    pub(super) fn block_mapping_value_content(&mut self) -> Outcome<'a> {
        let content = self.scanner.read_value()?;
        self.content(content, State::BlockMappingKey)
    }

    /// The event for something that was read at once; `state` follows it.
    fn content(&mut self, content: Content<'a>, state: State) -> Outcome<'a> {
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

    /// What follows a `:`.
    fn value_node(&mut self) -> Outcome<'a> {
        match self.peek()? {
            Next::Key | Next::Value | Next::BlockEnd => Ok(self.empty_then(State::BlockMappingKey)),
            _ => self.node_then(Allowed::BlockOrIndentless, State::BlockMappingKey),
        }
    }

    /// What follows a dash.
    fn item_node(&mut self, state: State) -> Outcome<'a> {
        match (self.peek()?, state) {
            (Next::BlockEntry | Next::BlockEnd, _)
            | (Next::Key | Next::Value, State::IndentlessSequenceEntry) => {
                Ok(self.empty_then(state))
            }
            _ => self.node_then(Allowed::Block, state),
        }
    }
}
