//! Functions on regular expressions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use outrigger_gostd::regexp::{self, Regexp, quote_meta};
use outrigger_gostd::strconv::{can_backquote, quote_bytes};

use super::args::{bytes, int};
use super::{CallResult, MAX_TEXT, fixed, too_large};
use crate::function::{CallError, Function, Ty};
use crate::value::{Element, List, Value, growth};

/// The number of compiled expressions to cache; templates use few, in loops.
const CACHE_SIZE: usize = 64;

thread_local! {
    static CACHE: RefCell<HashMap<Vec<u8>, Rc<Regexp>>> = RefCell::default();
}

const BOOL: Ty = Ty::Bool;
const INT: Ty = Ty::Int;
const STR: Ty = Ty::String;
const STRINGS: Ty = Ty::Strings;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("regexMatch", &[STR, STR], BOOL, |_, args| {
        let is_match = compile(args).is_ok_and(|regexp| regexp.is_match(bytes(args, 1)));
        Ok(Value::Bool(is_match))
    }),
    fixed("mustRegexMatch", &[STR, STR], BOOL, |_, args| {
        Ok(Value::Bool(compile(args)?.is_match(bytes(args, 1))))
    }),
    fixed("regexFindAll", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(find_all(&*must_compile(args)?, args))
    }),
    fixed("mustRegexFindAll", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(find_all(&*compile(args)?, args))
    }),
    fixed("regexFind", &[STR, STR], STR, |_, args| {
        Ok(find(&*must_compile(args)?, args))
    }),
    fixed("mustRegexFind", &[STR, STR], STR, |_, args| {
        Ok(find(&*compile(args)?, args))
    }),
    fixed("regexReplaceAll", &[STR, STR, STR], STR, |_, args| {
        replace_all(&*must_compile(args)?, args)
    }),
    fixed("mustRegexReplaceAll", &[STR, STR, STR], STR, |_, args| {
        replace_all(&*compile(args)?, args)
    }),
    fixed(
        "regexReplaceAllLiteral",
        &[STR, STR, STR],
        STR,
        |_, args| replace_all_literal(&*must_compile(args)?, args),
    ),
    fixed(
        "mustRegexReplaceAllLiteral",
        &[STR, STR, STR],
        STR,
        |_, args| replace_all_literal(&*compile(args)?, args),
    ),
    fixed("regexSplit", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(split(&*must_compile(args)?, args))
    }),
    fixed("mustRegexSplit", &[STR, STR, INT], STRINGS, |_, args| {
        Ok(split(&*compile(args)?, args))
    }),
    fixed("regexQuoteMeta", &[STR], STR, |_, args| {
        Ok(Value::str(quote_meta(bytes(args, 0))))
    }),
];

/// `regexp.Compile`
fn compile(args: &[Value]) -> Result<Rc<Regexp>, CallError> {
    compile_cached(bytes(args, 0)).map_err(|error| CallError::returned(error.to_string()))
}

/// `regexp.MustCompile`, which panics with this message.
fn must_compile(args: &[Value]) -> Result<Rc<Regexp>, CallError> {
    let expression = bytes(args, 0);
    compile_cached(expression).map_err(|error| {
        let quoted = if can_backquote(expression) {
            format!("`{}`", String::from_utf8_lossy(expression))
        } else {
            quote_bytes(expression)
        };
        CallError::returned(format!("regexp: Compile({quoted}): {error}"))
    })
}

fn compile_cached(expression: &[u8]) -> Result<Rc<Regexp>, regexp::Error> {
    let cached = CACHE.with_borrow(|cache| cache.get(expression).cloned());
    if let Some(regexp) = cached {
        return Ok(regexp);
    }
    let regexp = Rc::new(Regexp::compile(expression)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= CACHE_SIZE {
            cache.clear();
        }
        cache.insert(expression.to_vec(), Rc::clone(&regexp));
    });
    Ok(regexp)
}

fn find(regexp: &Regexp, args: &[Value]) -> Value {
    let text = bytes(args, 1);
    let found = regexp.find(text).map(|range| &text[range]);
    Value::str(found.unwrap_or_default())
}

fn find_all(regexp: &Regexp, args: &[Value]) -> Value {
    let text = bytes(args, 1);
    let limit = usize::try_from(int(args, 2)).unwrap_or(usize::MAX);
    let found: Vec<Value> = regexp
        .find_all(text, limit)
        .into_iter()
        .map(|range| Value::str(&text[range]))
        .collect();
    Value::List(if found.is_empty() {
        List::nil(Element::String)
    } else {
        // Go allocates a slice with a capacity of ten.
        let mut capacity = 10;
        while capacity < found.len() {
            capacity = growth::append_capacity(Element::String, capacity, capacity + 1);
        }
        List::with_capacity(Element::String, found, capacity)
    })
}

fn replace_all(regexp: &Regexp, args: &[Value]) -> CallResult {
    regexp
        .replace_all(bytes(args, 1), bytes(args, 2), MAX_TEXT)
        .map(Value::str)
        .ok_or_else(too_large)
}

fn replace_all_literal(regexp: &Regexp, args: &[Value]) -> CallResult {
    regexp
        .replace_all_literal(bytes(args, 1), bytes(args, 2), MAX_TEXT)
        .map(Value::str)
        .ok_or_else(too_large)
}

fn split(regexp: &Regexp, args: &[Value]) -> Value {
    match int(args, 2) {
        0 => Value::List(List::nil(Element::String)),
        limit => {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            Value::strings(regexp.split(bytes(args, 1), limit))
        }
    }
}
