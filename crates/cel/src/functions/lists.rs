//! Lists: the library of Kubernetes, and cel-go's `lists` extension, version 3.

use std::cmp::Ordering;

use super::{Function, Implementation, int, list};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::compare::{compare, equal, is_comparable};
use crate::value::{List, Value};

type Result<T> = std::result::Result<T, Error>;

/// The ids of an overload for each comparable type. With `type`, the id ends with the type again.
macro_rules! ids {
    ($before:literal, $after:literal) => {
        [
            (Type::Int, concat!($before, "int", $after)),
            (Type::Uint, concat!($before, "uint", $after)),
            (Type::Double, concat!($before, "double", $after)),
            (Type::Bool, concat!($before, "bool", $after)),
            (Type::Duration, concat!($before, "duration", $after)),
            (Type::Timestamp, concat!($before, "timestamp", $after)),
            (Type::String, concat!($before, "string", $after)),
            (Type::Bytes, concat!($before, "bytes", $after)),
        ]
    };
    ($before:literal, $middle:literal, type) => {
        [
            (Type::Int, concat!($before, "int", $middle, "int")),
            (Type::Uint, concat!($before, "uint", $middle, "uint")),
            (Type::Double, concat!($before, "double", $middle, "double")),
            (Type::Bool, concat!($before, "bool", $middle, "bool")),
            (
                Type::Duration,
                concat!($before, "duration", $middle, "duration"),
            ),
            (
                Type::Timestamp,
                concat!($before, "timestamp", $middle, "timestamp"),
            ),
            (Type::String, concat!($before, "string", $middle, "string")),
            (Type::Bytes, concat!($before, "bytes", $middle, "bytes")),
        ]
    };
}

pub(super) fn functions() -> Vec<Function> {
    let t = || Type::Param("T");
    let (of_t, of_a) = (|| Type::list(t()), Type::list(Type::Param("A")));
    let of_dyn = || Type::list(Type::Dyn);
    let mut functions = vec![
        Function::new("slice").member("list_slice", [of_t(), Type::Int, Type::Int], of_t(), slice),
        Function::new("flatten")
            .member("list_flatten", [Type::list(of_t())], of_t(), flatten)
            .member("list_flatten_int", [of_dyn(), Type::Int], of_dyn(), flatten)
            .without_guards(),
        Function::new("lists.range").global(
            "lists_range",
            [Type::Int],
            Type::list(Type::Int),
            range,
        ),
        Function::new("reverse").member("list_reverse", [of_t()], of_t(), reverse),
        Function::new("distinct").member("list_distinct", [of_t()], of_t(), distinct),
        Function::new("indexOf").member(
            "list_a_index_of_int",
            [of_a.clone(), Type::Param("A")],
            Type::Int,
            |meter, args| match args {
                [list, item] => index_of(meter, list, item),
                _ => Err(Error::NoSuchOverload),
            },
        ),
        Function::new("lastIndexOf").member(
            "list_a_last_index_of_int",
            [of_a, Type::Param("A")],
            Type::Int,
            |meter, args| match args {
                [list, item] => last_index_of(meter, list, item),
                _ => Err(Error::NoSuchOverload),
            },
        ),
        overloads(
            "isSorted",
            ids!("list_", "_is_sorted_bool"),
            is_sorted,
            Some(&Type::Bool),
        ),
        overloads("max", ids!("list_", "_max_", type), max, None),
        overloads("min", ids!("list_", "_min_", type), min, None),
    ];
    let mut sum = Function::new("sum");
    for (type_, id) in ids!("list_", "_sum_", type) {
        let implementation: Implementation = match type_ {
            Type::Int => |meter, args| total(meter, args, Value::Int(0)),
            Type::Uint => |meter, args| total(meter, args, Value::Uint(0)),
            Type::Double => |meter, args| total(meter, args, Value::Double(0.0)),
            Type::Duration => |meter, args| total(meter, args, Value::Duration(0)),
            _ => continue,
        };
        sum = sum.member(id, [Type::list(type_.clone())], type_, implementation);
    }
    functions.push(sum);
    let mut sort = Function::new("sort").singleton(sort);
    for (type_, id) in sort_ids(ids!("list_", "_sort")) {
        sort = sort.declared_member(id, [Type::list(type_.clone())], Type::list(type_));
    }
    functions.push(sort);
    let mut sort_by = Function::new("@sortByAssociatedKeys").singleton(sort_by);
    for (type_, id) in sort_ids(ids!("list_", "_sortByAssociatedKeys")) {
        sort_by = sort_by.declared_member(id, [of_t(), Type::list(type_)], of_t());
    }
    functions.push(sort_by);
    functions
}

/// The ids of `sort` have the full names of types.
fn sort_ids(ids: [(Type, &'static str); 8]) -> Vec<(Type, &'static str)> {
    let full = |id: &'static str| match id {
        "list_duration_sort" => "list_google.protobuf.Duration_sort",
        "list_timestamp_sort" => "list_google.protobuf.Timestamp_sort",
        "list_duration_sortByAssociatedKeys" => {
            "list_google.protobuf.Duration_sortByAssociatedKeys"
        }
        "list_timestamp_sortByAssociatedKeys" => {
            "list_google.protobuf.Timestamp_sortByAssociatedKeys"
        }
        other => other,
    };
    ids.into_iter()
        .map(|(type_, id)| (type_, full(id)))
        .collect()
}

fn overloads(
    name: &'static str,
    ids: [(Type, &'static str); 8],
    implementation: Implementation,
    result: Option<&Type>,
) -> Function {
    ids.into_iter()
        .fold(Function::new(name), |function, (type_, id)| {
            let result = result.cloned().unwrap_or_else(|| type_.clone());
            function.member(id, [Type::list(type_)], result, implementation)
        })
}

fn first<'a, 'v>(args: &'a [Value<'v>]) -> Result<&'a List<'v>> {
    list(args.first().ok_or(Error::NoSuchOverload)?)
}

fn slice<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let [items, start, end] = args else {
        return Err(Error::NoSuchOverload);
    };
    let (items, start, end) = (list(items)?, int(start)?, int(end)?);
    let length = items.len();
    let problem =
        |reason: String| Error::function(format!("cannot slice({start}, {end}), {reason}"));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(problem("negative indexes not supported".to_owned()));
    };
    if from > to {
        let reason = "start index must be less than or equal to end index";
        return Err(problem(reason.to_owned()));
    }
    if length < to {
        return Err(problem(format!("list is length {length}")));
    }
    meter.work(to.saturating_sub(from))?;
    let items = (from..to).filter_map(|index| items.get(index));
    Ok(Value::list(items.collect::<Result<_>>()?))
}

fn flatten<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let depth = args.get(1).map_or(Ok(1), int)?;
    if depth < 0 {
        return Err(Error::function("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(&mut out, first(args)?, depth, meter)?;
    Ok(Value::list(out))
}

fn flatten_into<'v>(
    out: &mut Vec<Value<'v>>,
    items: &List<'v>,
    depth: i64,
    meter: &mut Meter,
) -> Result<()> {
    for item in items.iter() {
        meter.work(1)?;
        match item? {
            Value::List(nested) if depth > 0 => {
                flatten_into(out, &nested, depth.saturating_sub(1), meter)?;
            }
            item => out.push(item),
        }
    }
    Ok(())
}

fn range<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let end = int(args.first().ok_or(Error::NoSuchOverload)?)?.max(0);
    if u64::try_from(end).is_ok_and(|end| end > meter.remaining()) {
        return Err(Error::CostLimitExceeded);
    }
    meter.work(usize::try_from(end).unwrap_or(usize::MAX))?;
    Ok(Value::list((0..end).map(Value::Int).collect()))
}

fn reverse<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let mut items = first(args)?.to_vec(meter)?;
    items.reverse();
    Ok(Value::list(items))
}

fn distinct<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let mut unique: Vec<Value<'v>> = Vec::new();
    for item in first(args)?.iter() {
        let item = item?;
        let mut is_new = true;
        for existing in &unique {
            if is_equal(&item, existing, meter)? {
                is_new = false;
                break;
            }
        }
        if is_new {
            unique.push(item);
        }
    }
    Ok(Value::list(unique))
}

/// Equality where values that cannot be compared are different.
pub(super) fn is_equal(one: &Value<'_>, other: &Value<'_>, meter: &mut Meter) -> Result<bool> {
    match equal(one, other, meter) {
        Err(error) if !error.is_cancellation() => Ok(false),
        result => result,
    }
}

pub(super) fn index_of<'v>(
    meter: &mut Meter,
    items: &Value<'v>,
    wanted: &Value<'v>,
) -> Result<Value<'v>> {
    for (i, item) in list(items)?.iter().enumerate() {
        if is_equal(&item?, wanted, meter)? {
            return Ok(Value::Int(i64::try_from(i).unwrap_or(i64::MAX)));
        }
    }
    Ok(Value::Int(-1))
}

pub(super) fn last_index_of<'v>(
    meter: &mut Meter,
    items: &Value<'v>,
    wanted: &Value<'v>,
) -> Result<Value<'v>> {
    let items = list(items)?;
    for i in (0..items.len()).rev() {
        let Some(item) = items.get(i) else { break };
        if is_equal(&item?, wanted, meter)? {
            return Ok(Value::Int(i64::try_from(i).unwrap_or(i64::MAX)));
        }
    }
    Ok(Value::Int(-1))
}

fn is_sorted<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let items = first(args)?.to_vec(meter)?;
    if !items.iter().all(is_comparable) {
        return Err(Error::NoSuchOverload);
    }
    let is_sorted = items
        .windows(2)
        .all(|pair| !matches!(pair, [one, other] if compare(one, other) == Ok(Ordering::Greater)));
    Ok(Value::Bool(is_sorted))
}

fn total<'v>(meter: &mut Meter, args: &[Value<'v>], zero: Value<'v>) -> Result<Value<'v>> {
    let add = super::function("_+_").and_then(|add| add.singleton);
    let add = add.ok_or(Error::NoSuchOverload)?;
    first(args)?
        .to_vec(meter)?
        .into_iter()
        .try_fold(zero, |sum, item| add(meter, &mut [sum, item]))
}

fn extreme<'v>(
    meter: &mut Meter,
    args: &[Value<'v>],
    name: &str,
    preferred: Ordering,
) -> Result<Value<'v>> {
    let mut result: Option<Value<'v>> = None;
    for item in first(args)?.to_vec(meter)? {
        if !is_comparable(&item) {
            return Err(Error::NoSuchOverload);
        }
        let is_better = match &result {
            None => true,
            Some(best) => compare(best, &item) == Ok(preferred),
        };
        if is_better {
            result = Some(item);
        }
    }
    result.ok_or_else(|| Error::function(format!("{name} called on empty list")))
}

fn max<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    extreme(meter, args, "max", Ordering::Less)
}

fn min<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    extreme(meter, args, "min", Ordering::Greater)
}

fn sort<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let items = first(args)?.to_vec(meter)?;
    sorted(items.clone(), items, meter)
}

fn sort_by<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let [items, keys] = args else {
        return Err(Error::NoSuchOverload);
    };
    let (items, keys) = (list(items)?.to_vec(meter)?, list(keys)?.to_vec(meter)?);
    if items.len() != keys.len() {
        return Err(Error::function(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            items.len(),
            keys.len()
        )));
    }
    sorted(items, keys, meter)
}

fn sorted<'v>(items: Vec<Value<'v>>, keys: Vec<Value<'v>>, meter: &mut Meter) -> Result<Value<'v>> {
    let Some(key) = keys.first() else {
        return Ok(Value::list(items));
    };
    if !is_comparable(key) {
        return Err(Error::function("list elements must be comparable"));
    }
    let type_ = key.type_();
    if keys.iter().any(|key| key.type_() != type_) {
        return Err(Error::function("list elements must have the same type"));
    }
    meter.work(keys.len().saturating_mul(16))?;
    let mut pairs: Vec<_> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|(one, _), (other, _)| compare(one, other).unwrap_or(Ordering::Equal));
    Ok(Value::list(
        pairs.into_iter().map(|(_, item)| item).collect(),
    ))
}
