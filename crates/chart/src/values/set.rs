//! The grammar of `--set` and similar flags: `a.b[2].c={x,y},d=1`.
//!
//! As in Helm, values are set while parsing, so that those before an error remain set.

use std::fmt::{self, Write};

use outrigger_gotmpl::json;
use outrigger_gotmpl::value::{Map, Str, Value};

use serde::de::IgnoredAny;

use super::ReadFile;
use crate::profile::Profile;

const MAX_INDEX: i64 = 65536;
const MAX_NESTED_NAMES: usize = 30;
/// `a[0][0]...` and `a[0].a[0]...`: Helm has no limit, but the stack is limited.
const MAX_NESTED_LISTS: usize = 200;

/// Why a `--set` is invalid, with Helm's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetError(String);

/// Why parsing stops.
#[derive(Debug)]
enum Stop {
    /// The end of the text, where a key would start.
    End,
    /// The end of the text inside an index: an error in Helm 3, ignored in Helm 4.
    EndInIndex,
    Failed(String),
}

type Step<T> = Result<T, Stop>;

pub(super) fn parse(text: &str, into: &Map, profile: Profile) -> Result<(), SetError> {
    run(text, into, profile, Mode::Typed)
}

pub(super) fn parse_strings(text: &str, into: &Map, profile: Profile) -> Result<(), SetError> {
    run(text, into, profile, Mode::Strings)
}

pub(super) fn parse_json(text: &str, into: &Map, profile: Profile) -> Result<(), SetError> {
    run(text, into, profile, Mode::Json)
}

pub(super) fn parse_literal(text: &str, into: &Map, profile: Profile) -> Result<(), SetError> {
    run(text, into, profile, Mode::Literal)
}

pub(super) fn parse_files(
    text: &str,
    into: &Map,
    profile: Profile,
    read: ReadFile<'_>,
) -> Result<(), SetError> {
    run(text, into, profile, Mode::Files(read))
}

/// Refuses a text that ends inside an index, after one, or after a dot, so that Helm would set nothing.
pub(super) fn check_complete(text: &str) -> Result<(), SetError> {
    check_end(text, Mode::Strings)
}

pub(super) fn check_complete_literal(text: &str) -> Result<(), SetError> {
    check_end(text, Mode::Literal)
}

fn check_end(text: &str, mode: Mode<'_>) -> Result<(), SetError> {
    let scratch = Map::default();
    let mut parser = Parser {
        rest: text,
        mode,
        lists: 0,
        is_assigned: false,
    };
    while !parser.rest.is_empty() {
        parser.is_assigned = false;
        match parser.key(&scratch, 0) {
            Ok(()) => {}
            Err(Stop::End) if parser.is_assigned => {}
            Err(Stop::End | Stop::EndInIndex) => {
                let message = format!("{} ends unexpectedly", quoted(text));
                return Err(SetError(message));
            }
            // Reported when the values are merged.
            Err(Stop::Failed(_)) => return Ok(()),
        }
    }
    Ok(())
}

fn run(text: &str, into: &Map, profile: Profile, mode: Mode<'_>) -> Result<(), SetError> {
    let mut parser = Parser {
        rest: text,
        mode,
        lists: 0,
        is_assigned: false,
    };
    loop {
        match parser.key(into, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::EndInIndex) if profile == Profile::Helm4 => return Ok(()),
            Err(Stop::EndInIndex) => {
                return Err(SetError("error parsing index: EOF".to_owned()));
            }
            Err(Stop::Failed(message)) => return Err(SetError(message)),
        }
    }
}

/// How values are parsed.
enum Mode<'a> {
    Typed,
    Strings,
    Json,
    Literal,
    Files(ReadFile<'a>),
}

struct Parser<'t, 'f> {
    rest: &'t str,
    mode: Mode<'f>,
    /// The number of lists around the current item.
    lists: usize,
    /// Whether the current key has a `=`.
    is_assigned: bool,
}

impl Parser<'_, '_> {
    fn key(&mut self, data: &Map, depth: usize) -> Step<()> {
        let stops: &[char] = match self.mode {
            Mode::Literal => &['=', '[', '.'],
            _ => &['=', '[', ',', '.'],
        };
        let (key, stop) = self.until(stops);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => fail(format_args!("key {} has no value", quoted(&key))),
            Some('[') => self.indexed(data, &key, depth),
            Some('=') => self.assign(data, &key),
            Some(',') => {
                set(data, &key, Value::str(""));
                fail(format_args!(
                    "key {} has no value (cannot end with ,)",
                    quoted(&key)
                ))
            }
            Some(_) => self.nested(data, &key, depth + 1),
        }
    }

    fn indexed(&mut self, data: &Map, key: &str, depth: usize) -> Step<()> {
        let index = self.index()?;
        let list = match data.get(key.as_bytes()) {
            None => Vec::new(),
            Some(Value::List(list)) => list.items().to_vec(),
            Some(other) => return fail(conversion(&other, "[]interface {}")),
        };
        let (list, outcome) = self.item(list, index, depth);
        // If Go panics in an item, the list is not changed.
        if !matches!(&outcome, Err(Stop::Failed(message)) if message.starts_with(PANIC)) {
            set(data, key, Value::list(list));
        }
        outcome
    }

    fn nested(&mut self, data: &Map, key: &str, depth: usize) -> Step<()> {
        if depth > MAX_NESTED_NAMES {
            return fail(format_args!(
                "value name nested level is greater than maximum supported nested level of {MAX_NESTED_NAMES}"
            ));
        }
        let inner = match data.get(key.as_bytes()) {
            None => Map::default(),
            Some(Value::Map(inner)) => inner,
            Some(other) => return fail(conversion(&other, "map[string]interface {}")),
        };
        let outcome = self.key(&inner, depth);
        if outcome.is_ok() && inner.is_empty() {
            return fail(format_args!("key map {} has no value", quoted(key)));
        }
        if !inner.is_empty() {
            set(data, key, Value::Map(inner));
        }
        outcome
    }

    fn assign(&mut self, data: &Map, key: &str) -> Step<()> {
        self.is_assigned = true;
        match self.mode {
            Mode::Literal => {
                set(data, key, Value::str(std::mem::take(&mut self.rest)));
                Ok(())
            }
            Mode::Json => {
                if self.empty_value() {
                    set(data, key, Value::Nil);
                    return Ok(());
                }
                let (value, length) = self.json()?;
                set(data, key, value);
                self.rest = &self.rest[length..];
                self.empty_value();
                Ok(())
            }
            _ => match self.value()? {
                Assigned::Nothing => {
                    set(data, key, Value::str(""));
                    Err(Stop::End)
                }
                Assigned::List(list) => {
                    set(data, key, list);
                    Ok(())
                }
                Assigned::Scalar(read) => {
                    set(data, key, read.as_ref().cloned().unwrap_or_default());
                    read.map(|_| ()).map_err(Stop::Failed)
                }
            },
        }
    }

    /// Parses a value, sets it at `index` of a list, and returns the list.
    fn item(&mut self, mut list: Vec<Value>, index: i64, depth: usize) -> (Vec<Value>, Step<()>) {
        self.lists += 1;
        let outcome = self.item_in(&mut list, index, depth);
        self.lists -= 1;
        (list, outcome)
    }

    fn item_in(&mut self, list: &mut Vec<Value>, index: i64, depth: usize) -> Step<()> {
        let Ok(position) = usize::try_from(index) else {
            return fail(format_args!("negative {index} index not allowed"));
        };
        if self.lists > MAX_NESTED_LISTS {
            return fail(format_args!("lists are nested too deeply"));
        }
        let (key, stop) = self.until(&['[', '.', '=']);
        if !key.is_empty() {
            return fail(format_args!(
                "unexpected data at end of array index: {}",
                quoted_runes(&key)
            ));
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => self.assign_item(list, index),
            Some('[') => {
                let next = self.index()?;
                let inner = match list.get(position) {
                    None | Some(Value::Nil) => Vec::new(),
                    Some(Value::List(inner)) => inner.items().to_vec(),
                    Some(other) => return fail(conversion(other, "[]interface {}")),
                };
                let (inner, outcome) = self.item(inner, next, depth);
                outcome?;
                set_index(list, index, Value::list(inner))
            }
            Some(_) => {
                let inner = match list.get(position) {
                    Some(Value::Map(inner)) => inner.clone(),
                    _ => Map::default(),
                };
                if position < list.len() {
                    list[position] = Value::Map(inner.clone());
                }
                self.key(&inner, depth)?;
                set_index(list, index, Value::Map(inner))
            }
        }
    }

    fn assign_item(&mut self, list: &mut Vec<Value>, index: i64) -> Step<()> {
        match self.mode {
            Mode::Literal => {
                let text = std::mem::take(&mut self.rest);
                set_index(list, index, Value::str(text))
            }
            Mode::Json => {
                if self.empty_value() {
                    return set_index(list, index, Value::Nil);
                }
                let (value, length) = self.json()?;
                set_index(list, index, value)?;
                self.rest = &self.rest[length..];
                self.empty_value();
                Ok(())
            }
            _ => {
                let value = match self.value()? {
                    Assigned::Nothing => Value::str(""),
                    Assigned::List(list) => list,
                    Assigned::Scalar(read) => read.map_err(Stop::Failed)?,
                };
                set_index(list, index, value)
            }
        }
    }

    /// The number in `[...]`, after the opening bracket.
    fn index(&mut self) -> Step<i64> {
        let (digits, stop) = self.until(&[']']);
        if stop.is_none() {
            return Err(Stop::EndInIndex);
        }
        let is_number = {
            let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(&digits);
            !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit())
        };
        let reason = if is_number {
            match digits.parse::<i64>() {
                Ok(index) => return Ok(index),
                Err(_) => "value out of range",
            }
        } else {
            "invalid syntax"
        };
        fail(format_args!(
            "error parsing index: strconv.Atoi: parsing {}: {reason}",
            quoted(&digits)
        ))
    }

    /// The value after `=` in the typed, string and file modes.
    fn value(&mut self) -> Step<Assigned> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(Assigned::Nothing);
        };
        if first != '{' {
            let (text, _) = self.until(&[',']);
            return Ok(Assigned::Scalar(self.read(text)));
        }
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        loop {
            let (text, stop) = self.until(&[',', '}']);
            if stop.is_none() {
                return fail(format_args!("list must terminate with '}}'"));
            }
            let item = self.read(text);
            if stop == Some('}') {
                self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
                items.push(item.map_err(Stop::Failed)?);
                return Ok(Assigned::List(Value::grown_list(items)));
            }
            items.push(item.map_err(Stop::Failed)?);
        }
    }

    fn read(&mut self, text: String) -> Result<Value, String> {
        match &mut self.mode {
            Mode::Typed => Ok(typed(text)),
            Mode::Files(read) => read(&text).map(Value::str).map_err(|error| error.0),
            Mode::Strings | Mode::Json | Mode::Literal => Ok(Value::str(text)),
        }
    }

    /// Skips blanks. Returns whether the value is empty, with or without a comma.
    fn empty_value(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix(',') {
            self.rest = rest;
            return true;
        }
        self.rest.is_empty()
    }

    fn json(&self) -> Step<(Value, usize)> {
        let mut stream = serde_json::Deserializer::from_str(self.rest).into_iter::<IgnoredAny>();
        match stream.next() {
            Some(Ok(_)) => {
                let length = stream.byte_offset();
                let value = json::decode(&self.rest.as_bytes()[..length])
                    .map_err(|error| Stop::Failed(error.to_string()))?;
                Ok((value, length))
            }
            Some(Err(error)) => Err(Stop::Failed(error.to_string())),
            None => Err(Stop::End),
        }
    }

    /// Reads up to and including one of the characters. A backslash escapes the next character.
    fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let mut text = String::new();
        let mut chars = self.rest.chars();
        let escapes = !matches!(self.mode, Mode::Literal);
        while let Some(c) = chars.next() {
            if stops.contains(&c) {
                self.rest = chars.as_str();
                return (text, Some(c));
            }
            if c == '\\' && escapes {
                text.extend(chars.next());
            } else {
                text.push(c);
            }
        }
        self.rest = "";
        (text, None)
    }
}

enum Assigned {
    Nothing,
    List(Value),
    Scalar(Result<Value, String>),
}

fn set(data: &Map, key: &str, value: Value) {
    if !key.is_empty() {
        data.set(Str::from(key), value);
    }
}

fn set_index(list: &mut Vec<Value>, index: i64, value: Value) -> Step<()> {
    let Some(position) = usize::try_from(index).ok().filter(|_| index <= MAX_INDEX) else {
        return fail(format_args!(
            "index of {index} is greater than maximum supported index of {MAX_INDEX}"
        ));
    };
    if list.len() <= position {
        list.resize(position + 1, Value::Nil);
    }
    list[position] = value;
    Ok(())
}

/// Converts the text of a `--set` to a boolean, null, an integer or a string.
fn typed(text: String) -> Value {
    if text.eq_ignore_ascii_case("true") {
        return Value::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Value::Bool(false);
    }
    if text.eq_ignore_ascii_case("null") {
        return Value::Nil;
    }
    if text == "0" {
        return Value::Int64(0);
    }
    if !text.starts_with('0')
        && let Ok(number) = text.parse::<i64>()
    {
        return Value::Int64(number);
    }
    Value::str(text)
}

const PANIC: &str = "unable to parse key: ";

/// Go's message about a failed type assertion.
fn conversion(value: &Value, go_type: &str) -> impl fmt::Display {
    let found = match value {
        Value::Nil => "nil".to_owned(),
        other => other.type_name(),
    };
    format!("{PANIC}interface conversion: interface {{}} is {found}, not {go_type}")
}

fn fail<T>(message: impl fmt::Display) -> Step<T> {
    Err(Stop::Failed(message.to_string()))
}

/// Go's `%q` of a string.
fn quoted(text: &str) -> String {
    outrigger_gostd::strconv::quote(text)
}

/// Go's `%q` of a list of characters.
fn quoted_runes(text: &str) -> String {
    let mut out = String::from("[");
    for (index, c) in text.chars().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let _ = write!(out, "{}", outrigger_gostd::strconv::quote_rune(c));
    }
    out.push(']');
    out
}
