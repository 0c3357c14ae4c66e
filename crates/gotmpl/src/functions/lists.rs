//! Functions on lists, which return new lists.

use std::borrow::Cow;

use super::args::{any, int, rest};
use super::numeric::to_int64;
use super::reflection::deep_equal;
use super::{CallResult, MAX_ITEMS, fixed, too_large, variadic};
use crate::function::{Call, CallError, Function, Ty};
use crate::value::{Contents, Element, List, Value, growth};

const ANY: Ty = Ty::Any;
const LIST: Ty = Ty::List;
const LISTS: Ty = Ty::Named("[][]interface {}");

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("list", &[ANY], LIST, list),
    variadic("tuple", &[ANY], LIST, list),
    fixed("append", &[ANY, ANY], LIST, push),
    fixed("push", &[ANY, ANY], LIST, push),
    fixed("mustAppend", &[ANY, ANY], LIST, push),
    fixed("mustPush", &[ANY, ANY], LIST, push),
    fixed("prepend", &[ANY, ANY], LIST, prepend),
    fixed("mustPrepend", &[ANY, ANY], LIST, prepend),
    fixed("first", &[ANY], ANY, first),
    fixed("mustFirst", &[ANY], ANY, first),
    fixed("last", &[ANY], ANY, last),
    fixed("mustLast", &[ANY], ANY, last),
    fixed("rest", &[ANY], LIST, tail),
    fixed("mustRest", &[ANY], LIST, tail),
    fixed("initial", &[ANY], LIST, initial),
    fixed("mustInitial", &[ANY], LIST, initial),
    fixed("reverse", &[ANY], LIST, reverse),
    fixed("mustReverse", &[ANY], LIST, reverse),
    fixed("compact", &[ANY], LIST, compact),
    fixed("mustCompact", &[ANY], LIST, compact),
    fixed("uniq", &[ANY], LIST, uniq),
    fixed("mustUniq", &[ANY], LIST, uniq),
    variadic("without", &[ANY, ANY], LIST, without),
    variadic("mustWithout", &[ANY, ANY], LIST, without),
    fixed("has", &[ANY, ANY], Ty::Bool, has),
    fixed("mustHas", &[ANY, ANY], Ty::Bool, has),
    variadic("slice", &[ANY, ANY], ANY, slice),
    variadic("mustSlice", &[ANY, ANY], ANY, slice),
    variadic("concat", &[ANY], ANY, concat),
    fixed("chunk", &[Ty::Int, ANY], LISTS, chunk),
    fixed("mustChunk", &[Ty::Int, ANY], LISTS, chunk),
];

/// The items of a slice; the error is `message` and the kind of the value.
fn items_of<'v>(value: &'v Value, message: &str) -> Result<Cow<'v, [Value]>, CallError> {
    match value {
        Value::List(list) => Ok(Cow::Borrowed(list.items())),
        Value::Nil => Err(nil_dereference()),
        Value::Object(object) => match object.contents() {
            Contents::List(list) => Ok(Cow::Owned(list.items().to_vec())),
            _ => Err(CallError::returned(format!(
                "{message} {}",
                value.kind().name()
            ))),
        },
        other => Err(CallError::returned(format!(
            "{message} {}",
            other.kind().name()
        ))),
    }
}

/// Go's panic for `reflect.TypeOf(nil).Kind()`.
pub(super) fn nil_dereference() -> CallError {
    CallError::returned("runtime error: invalid memory address or nil pointer dereference")
}

/// A list of the given capacity, or an error if it is too long.
fn limited(items: Vec<Value>, capacity: usize) -> CallResult {
    if items.len() > MAX_ITEMS {
        return Err(too_large());
    }
    Ok(Value::List(List::with_capacity(
        Element::Any,
        items,
        capacity,
    )))
}

fn list(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(if args.is_empty() {
        Value::List(List::new(Element::Any, Vec::new()))
    } else {
        Value::list(args.to_vec())
    })
}

fn push(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot push on type")?;
    call.reserve_items(items.len() + 1)?;
    let mut all = Vec::with_capacity(items.len() + 1);
    all.extend_from_slice(&items);
    all.push(any(args, 1).clone());
    let capacity = growth::append_capacity(Element::Any, items.len(), all.len());
    limited(all, capacity)
}

fn prepend(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot prepend on type")?;
    call.reserve_items(items.len() + 1)?;
    let mut all = Vec::with_capacity(items.len() + 1);
    all.push(any(args, 1).clone());
    all.extend_from_slice(&items);
    let capacity = growth::append_capacity(Element::Any, 1, all.len());
    limited(all, capacity)
}

fn first(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot find first on type")?;
    Ok(items.first().cloned().unwrap_or_default())
}

fn last(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot find last on type")?;
    Ok(items.last().cloned().unwrap_or_default())
}

fn tail(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot find rest on type")?;
    call.reserve_items(items.len())?;
    Ok(match items.split_first() {
        Some((_, rest)) => Value::list(rest.to_vec()),
        None => Value::List(List::nil(Element::Any)),
    })
}

fn initial(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot find initial on type")?;
    call.reserve_items(items.len())?;
    Ok(match items.split_last() {
        Some((_, rest)) => Value::list(rest.to_vec()),
        None => Value::List(List::nil(Element::Any)),
    })
}

fn reverse(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot find reverse on type")?;
    call.reserve_items(items.len())?;
    Ok(Value::list(items.iter().rev().cloned().collect()))
}

fn compact(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot compact on type")?;
    call.reserve_items(items.len())?;
    let kept = items.iter().filter(|item| !super::defaults::is_empty(item));
    Ok(Value::grown_list(kept.cloned().collect()))
}

fn uniq(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot find uniq on type")?;
    call.reserve_items(items.len())?;
    let mut kept: Vec<Value> = Vec::new();
    for item in items.iter() {
        if !contains(call, &kept, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::grown_list(kept))
}

/// The number of items that are compared before the host is asked whether to stop.
const COMPARISONS: usize = 4096;

/// Whether one of the items equals a value.
fn contains(call: &Call<'_>, items: &[Value], value: &Value) -> Result<bool, CallError> {
    // A comparison of containers may visit millions of values.
    let chunk = if value.is_container() { 1 } else { COMPARISONS };
    for items in items.chunks(chunk) {
        if items.iter().any(|item| deep_equal(value, item)) {
            return Ok(true);
        }
        call.check_interrupt()?;
    }
    Ok(false)
}

fn without(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 0), "Cannot find without on type")?;
    call.reserve_items(items.len())?;
    let omitted = rest(args, 1);
    let mut kept = Vec::new();
    for item in items.iter() {
        if !contains(call, omitted, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::grown_list(kept))
}

fn has(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    if any(args, 1).is_nil() {
        return Ok(Value::Bool(false));
    }
    let items = items_of(any(args, 1), "Cannot find has on type")?;
    contains(call, &items, any(args, 0)).map(Value::Bool)
}

/// `list[start:end]`, of the same type. As in Go, `end` may exceed the length up to the capacity; elements after the last
/// item are zero.
fn slice(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let list = any(args, 0);
    let items = items_of(list, "list should be type of slice or array but")?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let bound = |at: usize, default: usize| match args.get(at) {
        Some(value) => usize::try_from(to_int64(value)).ok(),
        None => Some(default),
    };
    let (element, capacity) = match list {
        Value::List(list) => (list.element(), list.capacity()),
        _ => (Element::Any, items.len()),
    };
    let (start, end) = bound(1, 0)
        .zip(bound(2, items.len()))
        .filter(|(start, end)| start <= end && *end <= capacity)
        .ok_or_else(|| CallError::returned("reflect.Value.Slice: slice index out of bounds"))?;
    call.reserve_items(end - start)?;
    let mut part = items
        .get(start..end.min(items.len()))
        .unwrap_or_default()
        .to_vec();
    part.resize(end - start, zero_of(element));
    Ok(Value::List(List::with_capacity(
        element,
        part,
        capacity - start,
    )))
}

/// The zero value of an element type.
fn zero_of(element: Element) -> Value {
    match element {
        Element::String => Value::str(""),
        Element::Int => Value::Int(0),
        Element::Any | Element::Byte | Element::Map | Element::List | Element::Pointers(_) => {
            Value::Nil
        }
    }
}

fn concat(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut all = Vec::new();
    for list in args {
        let error = |_| match list.kind().name() {
            "invalid" => nil_dereference(),
            kind => CallError::returned(format!("Cannot concat type {kind} as list")),
        };
        let items = items_of(list, "").map_err(error)?;
        if all.len() + items.len() > MAX_ITEMS {
            return Err(too_large());
        }
        call.reserve_items(all.len() + items.len())?;
        all.extend_from_slice(&items);
    }
    if all.is_empty() {
        return Ok(Value::List(List::nil(Element::Any)));
    }
    let capacity = growth::grown_capacity(Element::Any, all.len());
    limited(all, capacity)
}

fn chunk(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let items = items_of(any(args, 1), "Cannot chunk type")?;
    let size = int(args, 0);
    let out_of_range = || CallError::returned("runtime error: makeslice: len out of range");
    let list = |chunks| Ok(Value::List(List::new(Element::List, chunks)));
    let Ok(size) = usize::try_from(size) else {
        // Sprig does not check the sign.
        return match (items.len(), size.unsigned_abs()) {
            (1, 2..) => list(vec![Value::list(items.to_vec())]),
            (2.., below) if below >= items.len() as u64 - 1 => list(Vec::new()),
            _ => Err(out_of_range()),
        };
    };
    if size == 0 {
        return Err(out_of_range());
    }
    // Each chunk is a list of its own.
    call.reserve_items(items.len() + 5 * items.len().div_ceil(size))?;
    let chunks = items.chunks(size).map(|chunk| Value::list(chunk.to_vec()));
    list(chunks.collect())
}
