//! The fast path: from events to values, without a tree of nodes.
//!
//! It handles documents without anchors, aliases, tags, merge keys and other rare features, which is nearly all of them.
//! For the others it falls back to `document`, which parses again from the start. A syntax error is final: both paths
//! report it first.

use std::borrow::Cow;

use outrigger_gostd::strconv::format_float32;

use crate::error::{Error, MAX_NODES};
use crate::parser::{Event, Parser, Scalar};
use crate::resolve::{Resolved, resolve};

/// `maxNestingDepth` of encoding/json.
pub(crate) const MAX_JSON_DEPTH: usize = 10_000;

/// Receives the parts of a document in document order.
pub(crate) trait Sink<'a> {
    /// Whether the sink uses scalars that are not keys.
    const USES_SCALARS: bool;

    fn key(&mut self, key: Cow<'a, str>);
    fn scalar(&mut self, text: Cow<'a, str>, resolved: Resolved);
    fn begin_list(&mut self);
    fn end_list(&mut self);
    fn begin_map(&mut self);
    fn end_map(&mut self);
    /// Whether the next scalar may be discarded if it is long.
    fn skips_text(&self) -> bool;
    /// Whether the sink cannot handle the document.
    fn needs_fallback(&self) -> bool {
        false
    }
}

/// The result of the fast path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// The document has a feature that the fast path does not support.
    Fallback,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    List,
    Key,
    Value,
}

/// Feeds the first document to a sink; falls back if it is nested too deeply. An empty stream is null.
pub(crate) fn drive<'a, S: Sink<'a>, const EXACT: bool>(
    events: &mut Parser<'a, EXACT>,
    sink: &mut S,
    max_depth: usize,
) -> Result<Progress, Error> {
    if matches!(events.next()?, Event::StreamEnd) {
        sink.scalar(Cow::Borrowed(""), Resolved::Null);
        return Ok(Progress::Done);
    }
    let mut positions: Vec<Position> = Vec::with_capacity(32);
    let mut nodes = 0;
    loop {
        nodes += 1;
        if nodes > MAX_NODES {
            return Err(Error::TooManyNodes);
        }
        events.scanner.discard = sink.skips_text();
        match (events.next()?, positions.last().copied()) {
            (Event::Scalar(scalar), Some(Position::Key)) => {
                let Some(key) = fast_key(scalar) else {
                    return Ok(Progress::Fallback);
                };
                sink.key(key);
                set_last(&mut positions, Position::Value);
                continue;
            }
            (Event::Scalar(scalar), _) => {
                let Some((text, resolved)) = fast_scalar::<S>(scalar) else {
                    return Ok(Progress::Fallback);
                };
                sink.scalar(text, resolved);
            }
            (Event::MappingStart(None), Some(Position::List | Position::Value) | None) => {
                sink.begin_map();
                positions.push(Position::Key);
                if positions.len() > max_depth {
                    return Ok(Progress::Fallback);
                }
                continue;
            }
            (Event::SequenceStart(None), Some(Position::List | Position::Value) | None) => {
                sink.begin_list();
                positions.push(Position::List);
                if positions.len() > max_depth {
                    return Ok(Progress::Fallback);
                }
                continue;
            }
            (Event::MappingEnd, _) => {
                positions.pop();
                sink.end_map();
            }
            (Event::SequenceEnd, _) => {
                positions.pop();
                sink.end_list();
            }
            (Event::DocumentEnd | Event::StreamEnd, _) => {
                return Ok(Progress::Done);
            }
            _ => return Ok(Progress::Fallback),
        }
        if sink.needs_fallback() {
            return Ok(Progress::Fallback);
        }
        if positions.last() == Some(&Position::Value) {
            set_last(&mut positions, Position::Key);
        }
    }
}

fn set_last(positions: &mut [Position], position: Position) {
    if let Some(last) = positions.last_mut() {
        *last = position;
    }
}

/// The text of a key, if it can be converted to JSON.
fn fast_key(scalar: Scalar<'_>) -> Option<Cow<'_, str>> {
    if scalar.anchor.is_some() || scalar.tag.is_some() {
        return None;
    }
    if !scalar.implicit {
        return Some(scalar.text);
    }
    match resolve(&scalar.text) {
        Resolved::Text if scalar.text == "<<" => None,
        Resolved::Text | Resolved::Timestamp => Some(scalar.text),
        Resolved::Bool(value) => Some(bool_key(value)),
        Resolved::Int(value) => Some(Cow::Owned(value.to_string())),
        Resolved::Float(value) => Some(Cow::Owned(float_key(value))),
        Resolved::Null | Resolved::Uint(_) => None,
    }
}

fn fast_scalar<'a, S: Sink<'a>>(scalar: Scalar<'a>) -> Option<(Cow<'a, str>, Resolved)> {
    if scalar.anchor.is_some() || scalar.tag.is_some() {
        return None;
    }
    if !scalar.implicit {
        return Some((scalar.text, Resolved::Text));
    }
    let may_be_special = || matches!(scalar.text.as_bytes().first(), Some(b'.' | b'-' | b'+'));
    if !S::USES_SCALARS && !may_be_special() {
        return Some((scalar.text, Resolved::Text));
    }
    match resolve(&scalar.text) {
        Resolved::Float(value) if !value.is_finite() => None,
        resolved => Some((scalar.text, resolved)),
    }
}

pub(crate) fn bool_key(value: bool) -> Cow<'static, str> {
    Cow::Borrowed(if value { "true" } else { "false" })
}

pub(crate) fn float_key(value: f64) -> String {
    match format_float32(value).as_str() {
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        text => text.to_owned(),
    }
}
