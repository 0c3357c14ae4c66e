//! Functions on regular expressions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use outrigger_gostd::regexp::{self, Limits, Regexp, quote_meta};
use outrigger_gostd::strconv::{can_backquote, quote_bytes};

use super::args::{bytes, int};
use super::{CallResult, MAX_ITEMS, MAX_TEXT, fixed, too_large};
use crate::function::{Call, CallError, Function, Ty};
use crate::value::{Element, List, Value, growth};

/// The number of compiled expressions to cache; templates use few, in loops.
const CACHE_SIZE: usize = 64;

/// The maximum memory of all cached expressions.
const CACHE_MEMORY: usize = 64 << 20;

thread_local! {
    static CACHE: RefCell<HashMap<Vec<u8>, Rc<Regexp>>> = RefCell::default();
}

const BOOL: Ty = Ty::Bool;
const INT: Ty = Ty::Int;
const STR: Ty = Ty::String;
const STRINGS: Ty = Ty::Strings;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("regexMatch", &[STR, STR], BOOL, |_, args| {
        let Ok(regexp) = compile(args) else {
            return Ok(Value::Bool(false));
        };
        check_cost(&regexp, args)?;
        Ok(Value::Bool(regexp.is_match(bytes(args, 1))))
    }),
    fixed("mustRegexMatch", &[STR, STR], BOOL, |_, args| {
        let regexp = compile(args)?;
        check_cost(&regexp, args)?;
        Ok(Value::Bool(regexp.is_match(bytes(args, 1))))
    }),
    fixed("regexFindAll", &[STR, STR, INT], STRINGS, |call, args| {
        find_all(call, &*must_compile(args)?, args)
    }),
    fixed(
        "mustRegexFindAll",
        &[STR, STR, INT],
        STRINGS,
        |call, args| find_all(call, &*compile(args)?, args),
    ),
    fixed("regexFind", &[STR, STR], STR, |_, args| {
        find(&*must_compile(args)?, args)
    }),
    fixed("mustRegexFind", &[STR, STR], STR, |_, args| {
        find(&*compile(args)?, args)
    }),
    fixed("regexReplaceAll", &[STR, STR, STR], STR, |call, args| {
        replace_all(call, &*must_compile(args)?, args)
    }),
    fixed(
        "mustRegexReplaceAll",
        &[STR, STR, STR],
        STR,
        |call, args| replace_all(call, &*compile(args)?, args),
    ),
    fixed(
        "regexReplaceAllLiteral",
        &[STR, STR, STR],
        STR,
        |call, args| replace_all_literal(call, &*must_compile(args)?, args),
    ),
    fixed(
        "mustRegexReplaceAllLiteral",
        &[STR, STR, STR],
        STR,
        |call, args| replace_all_literal(call, &*compile(args)?, args),
    ),
    fixed("regexSplit", &[STR, STR, INT], STRINGS, |call, args| {
        split(call, &*must_compile(args)?, args)
    }),
    fixed("mustRegexSplit", &[STR, STR, INT], STRINGS, |call, args| {
        split(call, &*compile(args)?, args)
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
        let used: usize = cache.values().map(|cached| cached.memory()).sum();
        if cache.len() >= CACHE_SIZE || used.saturating_add(regexp.memory()) > CACHE_MEMORY {
            cache.clear();
        }
        cache.insert(expression.to_vec(), Rc::clone(&regexp));
    });
    Ok(regexp)
}

/// Fails if matching could take minutes.
fn check_cost(regexp: &Regexp, args: &[Value]) -> Result<(), CallError> {
    if bytes(args, 1).len() > regexp.max_text_len() {
        return Err(CallError::returned(format!(
            "regexp is too complex for a text of more than {} bytes",
            regexp.max_text_len()
        )));
    }
    Ok(())
}

/// Runs a function that finds all matches.
fn bounded<T>(
    call: &Call<'_>,
    find: impl FnOnce(&Limits<'_>) -> Option<T>,
) -> Result<T, CallError> {
    let limits = Limits {
        matches: MAX_ITEMS,
        bytes: MAX_TEXT,
        interrupted: &|| call.host.interrupted(),
    };
    match find(&limits) {
        Some(found) => Ok(found),
        None => call.check_interrupt().and_then(|()| Err(too_large())),
    }
}

fn find(regexp: &Regexp, args: &[Value]) -> CallResult {
    check_cost(regexp, args)?;
    let text = bytes(args, 1);
    let found = regexp.find(text).map(|range| &text[range]);
    Ok(Value::str(found.unwrap_or_default()))
}

fn find_all(call: &Call<'_>, regexp: &Regexp, args: &[Value]) -> CallResult {
    check_cost(regexp, args)?;
    let text = bytes(args, 1);
    let limit = usize::try_from(int(args, 2)).unwrap_or(usize::MAX);
    let found = bounded(call, |limits| regexp.find_all(text, limit, limits))?;
    call.reserve_items(found.len())?;
    let found: Vec<Value> = found
        .into_iter()
        .map(|range| Value::str(&text[range]))
        .collect();
    Ok(Value::List(if found.is_empty() {
        List::nil(Element::String)
    } else {
        // Go allocates a slice with a capacity of ten.
        let mut capacity = 10;
        while capacity < found.len() {
            capacity = growth::append_capacity(Element::String, capacity, capacity + 1);
        }
        List::with_capacity(Element::String, found, capacity)
    }))
}

fn replace_all(call: &Call<'_>, regexp: &Regexp, args: &[Value]) -> CallResult {
    check_cost(regexp, args)?;
    bounded(call, |limits| {
        regexp.replace_all(bytes(args, 1), bytes(args, 2), limits)
    })
    .map(Value::str)
}

fn replace_all_literal(call: &Call<'_>, regexp: &Regexp, args: &[Value]) -> CallResult {
    check_cost(regexp, args)?;
    bounded(call, |limits| {
        regexp.replace_all_literal(bytes(args, 1), bytes(args, 2), limits)
    })
    .map(Value::str)
}

fn split(call: &Call<'_>, regexp: &Regexp, args: &[Value]) -> CallResult {
    check_cost(regexp, args)?;
    let limit = match int(args, 2) {
        0 => return Ok(Value::List(List::nil(Element::String))),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let pieces = bounded(call, |limits| regexp.split(bytes(args, 1), limit, limits))?;
    call.reserve_items(pieces.len())?;
    Ok(Value::strings(pieces))
}
