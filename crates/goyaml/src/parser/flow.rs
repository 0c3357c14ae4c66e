//! The grammar of flow collections: `[a, b]` and `{a: b}`.

use super::{Allowed, Event, Events, Next, Outcome, State};

impl<'a, const EXACT: bool> Events<'a, EXACT> {
    pub(super) fn flow_sequence_entry(&mut self, first: bool) -> Outcome<'a> {
        let mut next = self.peek()?;
        if next != Next::FlowSequenceEnd && !first {
            if next != Next::FlowEntry {
                return Err(self.error("did not find expected ',' or ']'"));
            }
            self.take();
            next = self.peek()?;
        }
        match next {
            Next::FlowSequenceEnd => {
                self.take();
                self.pop_state();
                Ok(Event::SequenceEnd)
            }
            Next::Key => {
                self.take();
                self.node_line = self.token_line;
                self.state = State::FlowSequenceEntryMappingKey;
                Ok(Event::MappingStart(None))
            }
            _ => self.node_then(Allowed::Flow, State::FlowSequenceEntry),
        }
    }

    pub(super) fn flow_sequence_entry_mapping_key(&mut self) -> Outcome<'a> {
        match self.peek()? {
            Next::Value | Next::FlowEntry | Next::FlowSequenceEnd => {
                // go-yaml swallows the token here.
                self.take();
                Ok(self.empty_then(State::FlowSequenceEntryMappingValue))
            }
            _ => self.node_then(Allowed::Flow, State::FlowSequenceEntryMappingValue),
        }
    }

    pub(super) fn flow_sequence_entry_mapping_value(&mut self) -> Outcome<'a> {
        if self.peek()? == Next::Value {
            self.take();
            let next = self.peek()?;
            if !matches!(next, Next::FlowEntry | Next::FlowSequenceEnd) {
                return self.node_then(Allowed::Flow, State::FlowSequenceEntryMappingEnd);
            }
        }
        Ok(self.empty_then(State::FlowSequenceEntryMappingEnd))
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> Outcome<'a> {
        let mut next = self.peek()?;
        if next != Next::FlowMappingEnd && !first {
            if next != Next::FlowEntry {
                return Err(self.error("did not find expected ',' or '}'"));
            }
            self.take();
            next = self.peek()?;
        }
        match next {
            Next::FlowMappingEnd => {
                self.take();
                self.pop_state();
                Ok(Event::MappingEnd)
            }
            Next::Key => {
                self.take();
                match self.peek()? {
                    Next::Value | Next::FlowEntry | Next::FlowMappingEnd => {
                        Ok(self.empty_then(State::FlowMappingValue))
                    }
                    _ => self.node_then(Allowed::Flow, State::FlowMappingValue),
                }
            }
            _ => self.node_then(Allowed::Flow, State::FlowMappingEmptyValue),
        }
    }

    pub(super) fn flow_mapping_value(&mut self, empty: bool) -> Outcome<'a> {
        if self.peek()? == Next::Value && !empty {
            self.take();
            let next = self.peek()?;
            if !matches!(next, Next::FlowEntry | Next::FlowMappingEnd) {
                return self.node_then(Allowed::Flow, State::FlowMappingKey);
            }
        }
        Ok(self.empty_then(State::FlowMappingKey))
    }
}
