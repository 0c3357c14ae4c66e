//! Strings: the standard functions and cel-go's `strings` extension, version 2.

use super::{Function, int, list, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{Text, Value};

type Result<T> = std::result::Result<T, Error>;

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Int, String};
    let strings = || Type::list(String);
    vec![
        Function::new("contains")
            .member("contains_string", [String, String], Bool, contains)
            .without_guards(),
        Function::new("endsWith")
            .member("ends_with_string", [String, String], Bool, ends_with)
            .without_guards(),
        Function::new("startsWith")
            .member("starts_with_string", [String, String], Bool, starts_with)
            .without_guards(),
        Function::new("charAt").member("string_char_at_int", [String, Int], String, char_at),
        Function::new("indexOf")
            .member("string_index_of_string", [String, String], Int, index_of)
            .member(
                "string_index_of_string_int",
                [String, String, Int],
                Int,
                index_of,
            ),
        Function::new("lastIndexOf")
            .member(
                "string_last_index_of_string",
                [String, String],
                Int,
                last_index_of,
            )
            .member(
                "string_last_index_of_string_int",
                [String, String, Int],
                Int,
                last_index_of,
            ),
        Function::new("lowerAscii").member("string_lower_ascii", [String], String, lower),
        Function::new("upperAscii").member("string_upper_ascii", [String], String, upper),
        Function::new("trim").member("string_trim", [String], String, trim),
        Function::new("replace")
            .member(
                "string_replace_string_string",
                [String, String, String],
                String,
                replace,
            )
            .member(
                "string_replace_string_string_int",
                [String, String, String, Int],
                String,
                replace,
            ),
        Function::new("split")
            .member("string_split_string", [String, String], strings(), split)
            .member(
                "string_split_string_int",
                [String, String, Int],
                strings(),
                split,
            ),
        Function::new("substring")
            .member("string_substring_int", [String, Int], String, substring)
            .member(
                "string_substring_int_int",
                [String, Int, Int],
                String,
                substring,
            ),
        Function::new("join")
            .member("list_join", [strings()], String, join)
            .member("list_join_string", [strings(), String], String, join),
        Function::new("strings.quote").global("strings_quote", [String], String, quote),
    ]
}

fn two<'a>(args: &'a [Value<'_>]) -> Result<(&'a str, &'a str)> {
    match args {
        [one, other, ..] => Ok((text(one)?, text(other)?)),
        _ => Err(Error::NoSuchOverload),
    }
}

fn one<'a>(args: &'a [Value<'_>]) -> Result<&'a str> {
    text(args.first().ok_or(Error::NoSuchOverload)?)
}

/// The optional integer at the end of the arguments.
fn number(args: &[Value<'_>], at: usize) -> Result<Option<i64>> {
    args.get(at).map(int).transpose()
}

fn owned<'v>(meter: &mut Meter, text: String) -> Result<Value<'v>> {
    meter.copy(text.len())?;
    Ok(Value::string(text))
}

fn contains<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (text, part) = two(args)?;
    Ok(Value::Bool(text.contains(part)))
}

fn ends_with<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (text, part) = two(args)?;
    Ok(Value::Bool(text.ends_with(part)))
}

fn starts_with<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (text, part) = two(args)?;
    Ok(Value::Bool(text.starts_with(part)))
}

fn out_of_range<T>(index: i64) -> Result<T> {
    Err(Error::function(format!("index out of range: {index}")))
}

fn char_at<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let [text_value, index] = args else {
        return Err(Error::NoSuchOverload);
    };
    let (text, index) = (text(text_value)?, int(index)?);
    meter.scan(text.len())?;
    let Some(character) = usize::try_from(index).ok().map(|i| text.chars().nth(i)) else {
        return out_of_range(index);
    };
    match character {
        Some(character) => Ok(Value::string(character.to_string())),
        None if usize::try_from(index) == Ok(text.chars().count()) => Ok("".into()),
        None => out_of_range(index),
    }
}

/// The index of the first match at or after an offset.
fn index_of<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    if let [list @ Value::List(_), item] = args {
        return super::lists::index_of(meter, list, item);
    }
    let (text, part) = two(args)?;
    let offset = number(args, 2)?.unwrap_or(0);
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    let Ok(start) = usize::try_from(offset) else {
        return out_of_range(offset);
    };
    let Some((byte, _)) = text.char_indices().nth(start) else {
        return Ok(Value::Int(-1));
    };
    let rest = text.get(byte..).unwrap_or_default();
    let found = rest.find(part).and_then(|found| rest.get(..found));
    Ok(Value::Int(match found {
        Some(before) => offset.saturating_add(count(before)),
        None => -1,
    }))
}

fn count(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

/// The index of the last match at or before an offset.
fn last_index_of<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    if let [list @ Value::List(_), item] = args {
        return super::lists::last_index_of(meter, list, item);
    }
    let (text, part) = two(args)?;
    let length = count(text);
    let offset = match number(args, 2)? {
        Some(offset) => offset,
        None if part.is_empty() => length,
        None if text.len() < part.len() => return Ok(Value::Int(-1)),
        None => length.saturating_sub(1),
    };
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    if offset >= length {
        return Ok(Value::Int(-1));
    }
    let last = offset.min(length.saturating_sub(count(part)));
    let Ok(last) = usize::try_from(last) else {
        return Ok(Value::Int(-1));
    };
    let end = text
        .char_indices()
        .nth(last)
        .map_or(text.len(), |(byte, _)| byte);
    let end = end.saturating_add(part.len()).min(text.len());
    // The end of a match is the end of a character.
    let searched = (end..=text.len()).find_map(|end| text.get(..end));
    let found = searched.and_then(|searched| {
        let matches = searched.rmatch_indices(part);
        let mut starts = matches.map(|(byte, _)| count(text.get(..byte).unwrap_or_default()));
        starts.find(|start| usize::try_from(*start).is_ok_and(|start| start <= last))
    });
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn lower<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = one(args)?.to_ascii_lowercase();
    owned(meter, text)
}

fn upper<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = one(args)?.to_ascii_uppercase();
    owned(meter, text)
}

fn trim<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = one(args)?.trim().to_owned();
    owned(meter, text)
}

fn replace<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let limit = number(args, 3)?.unwrap_or(-1);
    let [subject, old, new, ..] = args else {
        return Err(Error::NoSuchOverload);
    };
    let (subject, old, new) = (text(subject)?, text(old)?, text(new)?);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let matches = if old.is_empty() {
        subject.chars().count().saturating_add(1)
    } else {
        subject.matches(old).count()
    };
    let growth = new.len().saturating_mul(matches.min(limit));
    meter.copy(subject.len().saturating_add(growth))?;
    Ok(Value::string(subject.replacen(old, new, limit)))
}

fn split<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let limit = number(args, 2)?.unwrap_or(-1);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let [Value::String(subject), separator, ..] = args else {
        return Err(Error::NoSuchOverload);
    };
    let parts: Vec<Value<'v>> = match subject {
        // The parts are borrowed as well.
        Text::Borrowed(subject) => parts(subject, text(separator)?, limit, meter)?
            .into_iter()
            .map(Value::from)
            .collect(),
        Text::Shared(subject) => parts(subject, text(separator)?, limit, meter)?
            .into_iter()
            .map(Value::string)
            .collect(),
    };
    Ok(Value::list(parts))
}

/// `strings.SplitN`
fn parts<'t>(
    subject: &'t str,
    separator: &str,
    limit: usize,
    meter: &mut Meter,
) -> Result<Vec<&'t str>> {
    meter.copy(subject.len())?;
    if limit == 0 {
        return Ok(Vec::new());
    }
    if !separator.is_empty() {
        meter.work(subject.matches(separator).take(limit).count())?;
        return Ok(subject.splitn(limit, separator).collect());
    }
    // Like Go, an empty separator splits after each character.
    meter.work(subject.len().min(limit))?;
    let mut parts = Vec::new();
    let mut rest = subject;
    while let Some(character) = rest.chars().next() {
        if parts.len().saturating_add(1) == limit {
            break;
        }
        let (first, after) = rest.split_at(character.len_utf8());
        parts.push(first);
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    Ok(parts)
}

fn substring<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = one(args)?;
    let length = count(text);
    let start = number(args, 1)?.ok_or(Error::NoSuchOverload)?;
    let end = number(args, 2)?.unwrap_or(length);
    if args.len() > 2 && start > end {
        let message = format!("invalid substring range. start: {start}, end: {end}");
        return Err(Error::function(message));
    }
    for index in [start, end] {
        if !(0..=length).contains(&index) {
            return out_of_range(index);
        }
    }
    let skip = usize::try_from(start).unwrap_or(0);
    let take = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
    let part: String = text.chars().skip(skip).take(take).collect();
    owned(meter, part)
}

fn join<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (items, separator) = match args {
        [items] => (list(items)?, ""),
        [items, separator] => (list(items)?, text(separator)?),
        _ => return Err(Error::NoSuchOverload),
    };
    let mut out = String::new();
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            meter.copy(separator.len())?;
            out.push_str(separator);
        }
        match item? {
            Value::String(item) => {
                meter.copy(item.as_str().len().saturating_add(1))?;
                out.push_str(item.as_str());
            }
            other => return Err(Error::function(format!("join: invalid input: {other}"))),
        }
    }
    Ok(Value::String(Text::Shared(out.into())))
}

fn quote<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = one(args)?;
    meter.copy(text.len().saturating_mul(2))?;
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    Ok(Value::string(out))
}
