//! The quick way through a document: straight from events to values.
//!
//! It takes documents without anchors, aliases, tags, merge keys and other rarities, which is nearly all of them.
//! At the first rarity it gives up, and the document is read again the thorough way (see `document`). An error
//! of syntax is final: both ways would find it before anything else.

use std::borrow::Cow;

use outrigger_gostd::strconv::format_float32;

use crate::error::Error;
use crate::event::{Event, Events, Scalar};
use crate::resolve::{Resolved, resolve};

/// Go's JSON decoder goes no deeper.
pub(crate) const MAX_JSON_DEPTH: usize = 10_000;

/// Takes the parts of a document in reading order.
pub(crate) trait Sink<'a> {
    /// Whether the sink looks at scalars that are not keys.
    const TAKES_SCALARS: bool;

    fn key(&mut self, key: Cow<'a, str>);
    fn scalar(&mut self, text: Cow<'a, str>, resolved: Resolved);
    fn begin_list(&mut self);
    fn end_list(&mut self);
    fn begin_map(&mut self);
    fn end_map(&mut self);
    /// Whether long text that comes next may be left out.
    fn skips_text(&self) -> bool;
    /// Whether the sink met something that it leaves to the thorough way.
    fn gives_up(&self) -> bool {
        false
    }
}

/// How far the quick way went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// There is something that needs the thorough way.
    Rare,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    List,
    Key,
    Value,
}

/// Reads the first document. An empty stream is a null.
pub(crate) fn walk<'a, S: Sink<'a>, const EXACT: bool>(
    events: &mut Events<'a, EXACT>,
    sink: &mut S,
) -> Result<Progress, Error> {
    if matches!(events.next()?, Event::StreamEnd) {
        sink.scalar(Cow::Borrowed(""), Resolved::Null);
        return Ok(Progress::Done);
    }
    let mut places: Vec<Place> = Vec::with_capacity(32);
    loop {
        events.scanner.discard = sink.skips_text();
        match (events.next()?, places.last().copied()) {
            (Event::Scalar(scalar), Some(Place::Key)) => {
                let Some(key) = quick_key(scalar) else {
                    return Ok(Progress::Rare);
                };
                sink.key(key);
                set_last(&mut places, Place::Value);
                continue;
            }
            (Event::Scalar(scalar), _) => {
                let Some((text, resolved)) = quick_scalar::<S>(scalar) else {
                    return Ok(Progress::Rare);
                };
                sink.scalar(text, resolved);
            }
            (Event::MappingStart(None), Some(Place::List | Place::Value) | None) => {
                sink.begin_map();
                places.push(Place::Key);
                if places.len() > MAX_JSON_DEPTH {
                    return Ok(Progress::Rare);
                }
                continue;
            }
            (Event::SequenceStart(None), Some(Place::List | Place::Value) | None) => {
                sink.begin_list();
                places.push(Place::List);
                if places.len() > MAX_JSON_DEPTH {
                    return Ok(Progress::Rare);
                }
                continue;
            }
            (Event::MappingEnd, _) => {
                places.pop();
                sink.end_map();
            }
            (Event::SequenceEnd, _) => {
                places.pop();
                sink.end_list();
            }
            (Event::DocumentEnd | Event::StreamEnd, _) => {
                return Ok(Progress::Done);
            }
            _ => return Ok(Progress::Rare),
        }
        if sink.gives_up() {
            return Ok(Progress::Rare);
        }
        if places.last() == Some(&Place::Value) {
            set_last(&mut places, Place::Key);
        }
    }
}

fn set_last(places: &mut [Place], place: Place) {
    if let Some(last) = places.last_mut() {
        *last = place;
    }
}

/// The text of a key, if it is a key that JSON can have.
fn quick_key(scalar: Scalar<'_>) -> Option<Cow<'_, str>> {
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

fn quick_scalar<'a, S: Sink<'a>>(scalar: Scalar<'a>) -> Option<(Cow<'a, str>, Resolved)> {
    if scalar.anchor.is_some() || scalar.tag.is_some() {
        return None;
    }
    if !scalar.implicit {
        return Some((scalar.text, Resolved::Text));
    }
    let may_be_special = || matches!(scalar.text.as_bytes().first(), Some(b'.' | b'-' | b'+'));
    if !S::TAKES_SCALARS && !may_be_special() {
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
