//! Flow collections: `[a, b]` and `{a: b}`.

use super::{Allowed, Event, EventResult, NextToken, Parser, State};

impl<'a, const EXACT: bool> Parser<'a, EXACT> {
    pub(super) fn flow_sequence_entry(&mut self, first: bool) -> EventResult<'a> {
        let mut next = self.peek()?;
        if next != NextToken::FlowSequenceEnd && !first {
            if next != NextToken::FlowEntry {
                return Err(self.error("did not find expected ',' or ']'"));
            }
            self.take();
            next = self.peek()?;
        }
        match next {
            NextToken::FlowSequenceEnd => {
                self.take();
                self.pop_state();
                Ok(Event::SequenceEnd)
            }
            NextToken::Key => {
                self.take();
                self.node_line = self.token_line;
                self.state = State::FlowSequenceEntryMappingKey;
                Ok(Event::MappingStart(None))
            }
            _ => self.node_then(Allowed::Flow, State::FlowSequenceEntry),
        }
    }

    pub(super) fn flow_sequence_entry_mapping_key(&mut self) -> EventResult<'a> {
        match self.peek()? {
            NextToken::Value | NextToken::FlowEntry | NextToken::FlowSequenceEnd => {
                // go-yaml drops the token here.
                self.take();
                Ok(self.empty_then(State::FlowSequenceEntryMappingValue))
            }
            _ => self.node_then(Allowed::Flow, State::FlowSequenceEntryMappingValue),
        }
    }

    pub(super) fn flow_sequence_entry_mapping_value(&mut self) -> EventResult<'a> {
        if self.peek()? == NextToken::Value {
            self.take();
            let next = self.peek()?;
            if !matches!(next, NextToken::FlowEntry | NextToken::FlowSequenceEnd) {
                return self.node_then(Allowed::Flow, State::FlowSequenceEntryMappingEnd);
            }
        }
        Ok(self.empty_then(State::FlowSequenceEntryMappingEnd))
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> EventResult<'a> {
        let mut next = self.peek()?;
        if next != NextToken::FlowMappingEnd && !first {
            if next != NextToken::FlowEntry {
                return Err(self.error("did not find expected ',' or '}'"));
            }
            self.take();
            next = self.peek()?;
        }
        match next {
            NextToken::FlowMappingEnd => {
                self.take();
                self.pop_state();
                Ok(Event::MappingEnd)
            }
            NextToken::Key => {
                self.take();
                match self.peek()? {
                    NextToken::Value | NextToken::FlowEntry | NextToken::FlowMappingEnd => {
                        Ok(self.empty_then(State::FlowMappingValue))
                    }
                    _ => self.node_then(Allowed::Flow, State::FlowMappingValue),
                }
            }
            _ => self.node_then(Allowed::Flow, State::FlowMappingEmptyValue),
        }
    }

    pub(super) fn flow_mapping_value(&mut self, empty: bool) -> EventResult<'a> {
        if self.peek()? == NextToken::Value && !empty {
            self.take();
            let next = self.peek()?;
            if !matches!(next, NextToken::FlowEntry | NextToken::FlowMappingEnd) {
                return self.node_then(Allowed::Flow, State::FlowMappingKey);
            }
        }
        Ok(self.empty_then(State::FlowMappingKey))
    }
}
