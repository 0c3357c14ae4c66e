//! Regular expressions in Go's (RE2's) syntax.

mod class;
mod pattern;
mod translate;

use super::args::{bytes, int};
use super::{Outcome, fixed};
use crate::fmt::quote;
use crate::function::{Call, CallError, Function, Ty};
use crate::value::{Element, List, Value, growth};
use pattern::Pattern;

const BOOL: Ty = Ty::Bool;
const INT: Ty = Ty::Int;
const STR: Ty = Ty::String;
const STRINGS: Ty = Ty::Strings;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("regexMatch", &[STR, STR], BOOL, |_, args| {
        let is_match = strict(args).is_ok_and(|pattern| pattern.is_match(bytes(args, 1)));
        Ok(Value::Bool(is_match))
    }),
    fixed("mustRegexMatch", &[STR, STR], BOOL, |_, args| {
        Ok(Value::Bool(strict(args)?.is_match(bytes(args, 1))))
    }),
    fixed("regexFindAll", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(find_all(&compiled(args)?, args))
    }),
    fixed("mustRegexFindAll", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(find_all(&strict(args)?, args))
    }),
    fixed("regexFind", &[STR, STR], STR, |_, args| {
        Ok(find(&compiled(args)?, args))
    }),
    fixed("mustRegexFind", &[STR, STR], STR, |_, args| {
        Ok(find(&strict(args)?, args))
    }),
    fixed("regexReplaceAll", &[STR, STR, STR], STR, |_, args| {
        replace(&compiled(args)?, args, true)
    }),
    fixed("mustRegexReplaceAll", &[STR, STR, STR], STR, |_, args| {
        replace(&strict(args)?, args, true)
    }),
    fixed(
        "regexReplaceAllLiteral",
        &[STR, STR, STR],
        STR,
        |_, args| replace(&compiled(args)?, args, false),
    ),
    fixed(
        "mustRegexReplaceAllLiteral",
        &[STR, STR, STR],
        STR,
        |_, args| replace(&strict(args)?, args, false),
    ),
    fixed("regexSplit", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(split(&compiled(args)?, args))
    }),
    fixed("mustRegexSplit", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(split(&strict(args)?, args))
    }),
    fixed("regexQuoteMeta", &[STR], STR, quote_meta),
];

/// The pattern, with the error that Go returns.
fn strict(args: &[Value]) -> Result<Pattern, CallError> {
    Pattern::compile(bytes(args, 0))
        .map_err(|error| CallError::returned(format!("error parsing regexp: {error}")))
}

/// The pattern, with the words in which Go panics.
fn compiled(args: &[Value]) -> Result<Pattern, CallError> {
    let pattern = bytes(args, 0);
    Pattern::compile(pattern).map_err(|error| {
        let shown = if quote::can_backquote(pattern) {
            format!("`{}`", String::from_utf8_lossy(pattern))
        } else {
            String::from_utf8_lossy(&quote::quote(pattern, false)).into_owned()
        };
        CallError::returned(format!(
            "regexp: Compile({shown}): error parsing regexp: {error}"
        ))
    })
}

fn find(pattern: &Pattern, args: &[Value]) -> Value {
    let text = bytes(args, 1);
    let found = pattern.find_at(text, 0).map(|range| &text[range]);
    Value::str(found.unwrap_or_default())
}

fn find_all(pattern: &Pattern, args: &[Value]) -> Value {
    let text = bytes(args, 1);
    let limit = usize::try_from(int(args, 2)).unwrap_or(usize::MAX);
    let found: Vec<Value> = pattern
        .find_all(text, limit)
        .into_iter()
        .map(|range| Value::str(&text[range]))
        .collect();
    Value::List(if found.is_empty() {
        List::nil(Element::String)
    } else {
        // The expression makes room for ten before it looks.
        let mut capacity = 10;
        while capacity < found.len() {
            capacity = growth::appended(Element::String, capacity, capacity + 1);
        }
        List::with_room(Element::String, found, capacity)
    })
}

fn replace(pattern: &Pattern, args: &[Value], expand: bool) -> Outcome {
    pattern
        .replace_all(bytes(args, 1), bytes(args, 2), expand)
        .map(Value::str)
}

fn split(pattern: &Pattern, args: &[Value]) -> Value {
    let (expression, text) = (bytes(args, 0), bytes(args, 1));
    let limit = match int(args, 2) {
        0 => return Value::List(List::nil(Element::String)),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    if !expression.is_empty() && text.is_empty() {
        return Value::strings([""]);
    }
    let mut pieces: Vec<&[u8]> = Vec::new();
    let (mut from, mut last) = (0, 0);
    for found in pattern.find_all(text, limit) {
        if pieces.len() + 1 == limit {
            break;
        }
        last = found.start;
        if found.end != 0 {
            pieces.push(&text[from..last]);
        }
        from = found.end;
    }
    if last != text.len() {
        pieces.push(&text[from..]);
    }
    Value::strings(pieces)
}

fn quote_meta(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let text = bytes(args, 0);
    let mut out = Vec::with_capacity(text.len() + 8);
    for byte in text {
        if br"\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    Ok(Value::str(out))
}
