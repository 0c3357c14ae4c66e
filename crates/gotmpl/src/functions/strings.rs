//! Functions on text. Go strings are bytes: positions and lengths count bytes unless a function says otherwise.

mod case;
mod split;
mod width;

use memchr::memmem;

use outrigger_gostd::strconv::append_quote;
use outrigger_gostd::unicode;

use super::args::{any, bytes, int, rest, string, strval, to_str};
use super::{CallResult, MAX_TEXT, fixed, too_large, variadic};
use crate::function::{Call, CallError, Function, Ty};
use crate::value::{List, Value};

pub(super) use split::strings_of;

const ANY: Ty = Ty::Any;
const BOOL: Ty = Ty::Bool;
const INT: Ty = Ty::Int;
const STR: Ty = Ty::String;
const STRINGS: Ty = Ty::Strings;
const STRING_MAP: Ty = Ty::Named("map[string]string");

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("hello", &[], STR, |_, _| Ok(Value::str("Hello!"))),
    fixed("abbrev", &[INT, STR], STR, width::abbrev),
    fixed("abbrevboth", &[INT, INT, STR], STR, width::abbrev_both),
    fixed("trunc", &[INT, STR], STR, trunc),
    fixed("trim", &[STR], STR, |_, args| {
        Ok(Value::str(trim_space(bytes(args, 0))))
    }),
    fixed("upper", &[STR], STR, case::upper),
    fixed("lower", &[STR], STR, case::lower),
    fixed("title", &[STR], STR, case::title),
    fixed("untitle", &[STR], STR, case::untitle),
    fixed("swapcase", &[STR], STR, case::swap),
    fixed("snakecase", &[STR], STR, case::snake),
    fixed("camelcase", &[STR], STR, case::camel),
    fixed("kebabcase", &[STR], STR, case::kebab),
    fixed("substr", &[INT, INT, STR], STR, substr),
    fixed("repeat", &[INT, STR], STR, repeat),
    fixed("trimall", &[STR, STR], STR, trim_all),
    fixed("trimAll", &[STR, STR], STR, trim_all),
    fixed("trimSuffix", &[STR, STR], STR, trim_suffix),
    fixed("trimPrefix", &[STR, STR], STR, trim_prefix),
    fixed("nospace", &[STR], STR, nospace),
    fixed("initials", &[STR], STR, initials),
    fixed("wrap", &[INT, STR], STR, width::wrap),
    fixed("wrapWith", &[INT, STR, STR], STR, width::wrap_with),
    fixed("contains", &[STR, STR], BOOL, |_, args| {
        Ok(Value::Bool(
            memmem::find(bytes(args, 1), bytes(args, 0)).is_some(),
        ))
    }),
    fixed("hasPrefix", &[STR, STR], BOOL, |_, args| {
        Ok(Value::Bool(bytes(args, 1).starts_with(bytes(args, 0))))
    }),
    fixed("hasSuffix", &[STR, STR], BOOL, |_, args| {
        Ok(Value::Bool(bytes(args, 1).ends_with(bytes(args, 0))))
    }),
    variadic("quote", &[ANY], STR, quote),
    variadic("squote", &[ANY], STR, squote),
    variadic("cat", &[ANY], STR, cat),
    fixed("indent", &[INT, STR], STR, |_, args| {
        indent(int(args, 0), bytes(args, 1), b"")
    }),
    fixed("nindent", &[INT, STR], STR, |_, args| {
        indent(int(args, 0), bytes(args, 1), b"\n")
    }),
    fixed("replace", &[STR, STR, STR], STR, replace),
    fixed("plural", &[STR, STR, INT], STR, |_, args| {
        Ok(Value::Str(string(args, usize::from(int(args, 2) != 1))))
    }),
    fixed("toString", &[ANY], STR, |_, args| {
        Ok(Value::Str(to_str(any(args, 0))))
    }),
    fixed("toStrings", &[ANY], STRINGS, |call, args| {
        strings_of(call, any(args, 0)).map(Value::List)
    }),
    fixed("join", &[STR, ANY], STR, split::join),
    fixed("sortAlpha", &[ANY], STRINGS, split::sort_alpha),
    fixed("split", &[STR, STR], STRING_MAP, split::split),
    fixed("splitn", &[STR, INT, STR], STRING_MAP, split::splitn),
    fixed("splitList", &[STR, STR], STRINGS, split::split_list),
];

fn trunc(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = bytes(args, 1);
    let Ok(count) = usize::try_from(int(args, 0).unsigned_abs()) else {
        return Ok(Value::Str(string(args, 1)));
    };
    if count >= text.len() {
        return Ok(Value::Str(string(args, 1)));
    }
    let kept = if int(args, 0) < 0 {
        &text[text.len() - count..]
    } else {
        &text[..count]
    };
    Ok(Value::str(kept))
}

pub(super) fn trim_space(text: &[u8]) -> &[u8] {
    trim_matches(text, unicode::is_space)
}

fn trim_matches(mut text: &[u8], matches: impl Fn(char) -> bool) -> &[u8] {
    while let Some((c, length)) = unicode::decode_rune(text).filter(|(c, _)| matches(*c)) {
        debug_assert!(matches(c));
        text = &text[length..];
    }
    while let Some((_, length)) = unicode::decode_last_rune(text).filter(|(c, _)| matches(*c)) {
        text = &text[..text.len() - length];
    }
    text
}

fn trim_all(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let cut: Vec<char> = unicode::runes(bytes(args, 0)).map(|(_, c)| c).collect();
    Ok(Value::str(trim_matches(bytes(args, 1), |c| {
        cut.contains(&c)
    })))
}

fn trim_suffix(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(match bytes(args, 1).strip_suffix(bytes(args, 0)) {
        Some(rest) => Value::str(rest),
        None => Value::Str(string(args, 1)),
    })
}

fn trim_prefix(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(match bytes(args, 1).strip_prefix(bytes(args, 0)) {
        Some(rest) => Value::str(rest),
        None => Value::Str(string(args, 1)),
    })
}

/// A negative start means 0; an end outside the string means its length.
fn substr(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (start, end, text) = (int(args, 0), int(args, 1), bytes(args, 2));
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let out_of_range = |range: String| {
        CallError::returned(format!("runtime error: slice bounds out of range {range}"))
    };
    if start < 0 {
        return match usize::try_from(end) {
            Err(_) => Err(out_of_range(format!("[:{end}]"))),
            Ok(_) if end > length => Err(out_of_range(format!("[:{end}] with length {length}"))),
            Ok(end) => Ok(Value::str(&text[..end])),
        };
    }
    let end = if end < 0 || end > length { length } else { end };
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match bounds.and_then(|(start, end)| text.get(start..end)) {
        Some(part) => Ok(Value::str(part)),
        None => Err(out_of_range(format!("[{start}:{end}]"))),
    }
}

/// Checks the count of `strings.Repeat` for a string of the given length.
fn repeat_count(count: i64, length: usize) -> Result<usize, CallError> {
    let count = usize::try_from(count)
        .map_err(|_| CallError::returned("strings: negative Repeat count"))?;
    match count.checked_mul(length) {
        Some(total) if total <= MAX_TEXT => Ok(count),
        _ => Err(too_large()),
    }
}

fn repeat(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = bytes(args, 1);
    let count = repeat_count(int(args, 0), text.len())?;
    call.reserve(count * text.len())?;
    Ok(Value::str(if text.is_empty() {
        Vec::new()
    } else {
        text.repeat(count)
    }))
}

/// Treats each byte as a Latin-1 character, as Sprig does, which breaks other characters.
fn nospace(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = bytes(args, 0);
    let is_space = |byte: &u8| unicode::is_space(char::from(*byte));
    if !text.iter().any(is_space) {
        return Ok(Value::Str(string(args, 0)));
    }
    let kept: String = text
        .iter()
        .filter(|b| !is_space(b))
        .map(|b| char::from(*b))
        .collect();
    Ok(Value::str(kept))
}

fn initials(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut after_gap = true;
    let mut out = String::new();
    for c in bytes(args, 0).iter().map(|byte| char::from(*byte)) {
        if unicode::is_space(c) {
            after_gap = true;
        } else if std::mem::take(&mut after_gap) {
            out.push(c);
        }
    }
    Ok(Value::str(out))
}

fn quote(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut out = Vec::new();
    for value in rest(args, 0).iter().filter(|value| !value.is_nil()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        append_quote(&mut out, &strval(value));
        check_length(&out)?;
    }
    Ok(Value::str(out))
}

fn squote(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut out = Vec::new();
    for value in rest(args, 0).iter().filter(|value| !value.is_nil()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.push(b'\'');
        crate::fmt::write_display(&mut out, value);
        out.push(b'\'');
        check_length(&out)?;
    }
    Ok(Value::str(out))
}

fn cat(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut out = Vec::new();
    let shown = args.iter().filter(|value| !value.is_nil());
    for (at, value) in shown.enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        crate::fmt::write_display(&mut out, value);
        check_length(&out)?;
    }
    Ok(Value::str(out))
}

fn check_length(out: &[u8]) -> Result<(), CallError> {
    if out.len() > MAX_TEXT {
        return Err(too_large());
    }
    Ok(())
}

/// Indents every line, including empty ones.
fn indent(spaces: i64, text: &[u8], before: &[u8]) -> CallResult {
    let spaces = repeat_count(spaces, 1)?;
    let lines = memchr::memchr_iter(b'\n', text).count() + 1;
    let total = spaces
        .checked_mul(lines)
        .and_then(|padding| padding.checked_add(text.len() + before.len()))
        .filter(|total| *total <= MAX_TEXT)
        .ok_or_else(too_large)?;
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(before);
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(line);
    }
    Ok(Value::str(out))
}

fn replace(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (old, new, text) = (bytes(args, 0), bytes(args, 1), bytes(args, 2));
    if old == new {
        return Ok(Value::Str(string(args, 2)));
    }
    if old.is_empty() {
        let matches = || unicode::runes(text).map(|(at, _)| at).chain([text.len()]);
        return replaced(call, args, (matches().count(), matches()));
    }
    let matches = || memmem::find_iter(text, old);
    match matches().count() {
        0 => Ok(Value::Str(string(args, 2))),
        count => replaced(call, args, (count, matches())),
    }
}

/// The text with `new` for `old` at all matches.
fn replaced(
    call: &Call<'_>,
    args: &[Value],
    (count, matches): (usize, impl Iterator<Item = usize>),
) -> CallResult {
    let (old, new, text) = (bytes(args, 0), bytes(args, 1), bytes(args, 2));
    let added = count
        .checked_mul(new.len())
        .filter(|added| *added <= MAX_TEXT)
        .ok_or_else(too_large)?;
    call.reserve(text.len() + added)?;
    let mut out = Vec::with_capacity(text.len() + added);
    let mut from = 0;
    for at in matches {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(new);
        from = at + old.len();
    }
    out.extend_from_slice(&text[from..]);
    Ok(Value::str(out))
}

/// A `[]string`.
fn string_list(items: Vec<Value>) -> Value {
    Value::List(List::new(crate::value::Element::String, items))
}
