//! Splitting, joining and sorting strings.

use memchr::memmem;

use outrigger_gostd::unicode;

use super::string_list;
use crate::function::{Call, CallError};
use crate::functions::args::{any, bytes, int, strval, to_str};
use crate::functions::{CallResult, MAX_TEXT, too_large};
use crate::value::{Contents, Element, List, Map, MapType, Str, Value};

/// Sprig's `strslice`: nil elements are dropped, and a single value becomes a list of one.
pub(in crate::functions) fn strings_of(call: &Call<'_>, value: &Value) -> Result<List, CallError> {
    let texts = |items: &[Value]| {
        call.reserve_items(items.len())?;
        let mut texts = Vec::with_capacity(items.len());
        for item in items.iter().filter(|item| !item.is_nil()) {
            texts.push(Value::Str(to_str(item)));
            if item.is_container() {
                call.reserve(0)?;
                call.check_interrupt()?;
            }
        }
        Ok(List::with_capacity(Element::String, texts, items.len()))
    };
    match value {
        Value::Nil => texts(&[]),
        Value::List(list) if list.element() == Element::String => Ok(list.clone()),
        Value::List(list) => texts(list.items()),
        Value::Object(object) => match object.contents() {
            Contents::List(list) => texts(list.items()),
            _ => texts(std::slice::from_ref(value)),
        },
        other => texts(std::slice::from_ref(other)),
    }
}

pub(super) fn join(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let separator = bytes(args, 0);
    let mut out = Vec::new();
    for (at, item) in strings_of(call, any(args, 1))?.items().iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(&strval(item));
        if out.len() > MAX_TEXT {
            return Err(too_large());
        }
    }
    Ok(Value::str(out))
}

pub(super) fn sort_alpha(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let texts = strings_of(call, any(args, 0))?;
    call.reserve_items(texts.items().len())?;
    let mut items = texts.items().to_vec();
    if items.is_empty() && any(args, 0).is_nil() {
        items.push(Value::str("<nil>"));
    }
    items.sort_by(|a, b| strval(a).cmp(&strval(b)));
    let capacity = texts.capacity().max(items.len());
    Ok(Value::List(List::with_capacity(
        Element::String,
        items,
        capacity,
    )))
}

pub(super) fn split(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let pieces = limited_pieces(call, bytes(args, 1), bytes(args, 0), -1)?;
    Ok(numbered(&pieces))
}

pub(super) fn splitn(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let pieces = limited_pieces(call, bytes(args, 2), bytes(args, 0), int(args, 1))?;
    Ok(numbered(&pieces))
}

pub(super) fn split_list(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let pieces = limited_pieces(call, bytes(args, 1), bytes(args, 0), -1)?;
    Ok(string_list(pieces.into_iter().map(Value::str).collect()))
}

/// [`pieces`], unless there are too many of them.
fn limited_pieces<'t>(
    call: &Call<'_>,
    text: &'t [u8],
    separator: &[u8],
    limit: i64,
) -> Result<Vec<&'t [u8]>, CallError> {
    let count = match separator {
        [] => text.len(),
        [byte] => memchr::memchr_iter(*byte, text).count(),
        _ => memmem::find_iter(text, separator).count(),
    };
    let count = usize::try_from(limit).map_or(count, |limit| limit.min(count));
    // A piece, its value, and its entry in a map.
    call.reserve(count.saturating_mul(
        size_of::<&[u8]>() + size_of::<(Str, Value)>() + text.len() / (count + 1),
    ))?;
    Ok(pieces(text, separator, limit))
}

/// A map with the keys `_0`, `_1`, ...
fn numbered(pieces: &[&[u8]]) -> Value {
    let entries = pieces
        .iter()
        .enumerate()
        .map(|(at, piece)| (Str::from(format!("_{at}")), Value::str(*piece)))
        .collect();
    Value::Map(Map::from_entries(MapType::Strings, entries))
}

/// `strings.SplitN`: at most `limit` pieces if it is positive, none if it is zero.
fn pieces<'t>(text: &'t [u8], separator: &[u8], limit: i64) -> Vec<&'t [u8]> {
    if limit == 0 {
        return Vec::new();
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if separator.is_empty() {
        return characters(text, limit);
    }
    let mut pieces = Vec::new();
    let mut from = 0;
    for at in memmem::find_iter(text, separator).take(limit - 1) {
        pieces.push(&text[from..at]);
        from = at + separator.len();
    }
    pieces.push(&text[from..]);
    pieces
}

fn characters(text: &[u8], limit: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((_, length)) = unicode::decode_rune(rest) {
        if pieces.len() + 1 == limit {
            pieces.push(rest);
            break;
        }
        let (first, behind) = rest.split_at(length);
        pieces.push(first);
        rest = behind;
    }
    pieces
}
