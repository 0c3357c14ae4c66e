//! Functions on dicts. `set`, `unset` and the merge functions change their argument, which may be shared.

use super::args::{any, bytes, map, rest, string, strval, to_str};
use super::merge::merge_into;
use super::{CallResult, fixed, variadic};
use crate::function::{Call, CallError, Function, Ty};
use crate::traversal::{VisitBudget, too_long_to_traverse};
use crate::value::{Element, List, Map, MapType, Str, Value};

const ANY: Ty = Ty::Any;
const MAP: Ty = Ty::Map;
const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("dict", &[ANY], MAP, dict),
    fixed("get", &[MAP, STR], ANY, |_, args| {
        Ok(read(args, 0)
            .and_then(|map| map.get(bytes(args, 1)))
            .unwrap_or_else(|| Value::str("")))
    }),
    fixed("set", &[MAP, STR, ANY], MAP, set),
    fixed("unset", &[MAP, STR], MAP, unset),
    fixed("hasKey", &[MAP, STR], Ty::Bool, |_, args| {
        Ok(Value::Bool(
            read(args, 0).is_some_and(|map| map.contains_key(bytes(args, 1))),
        ))
    }),
    variadic("pluck", &[STR, MAP], Ty::List, pluck),
    variadic("keys", &[MAP], Ty::Strings, keys),
    fixed("values", &[MAP], Ty::List, values),
    variadic("pick", &[MAP, STR], MAP, pick),
    variadic("omit", &[MAP, STR], MAP, omit),
    variadic("merge", &[MAP, MAP], ANY, |call, args| {
        merged(call, args, false)
    }),
    variadic("mergeOverwrite", &[MAP, MAP], ANY, |call, args| {
        merged(call, args, true)
    }),
    variadic("mustMerge", &[MAP, MAP], ANY, |call, args| {
        merged(call, args, false)
    }),
    variadic("mustMergeOverwrite", &[MAP, MAP], ANY, |call, args| {
        merged(call, args, true)
    }),
    fixed("deepCopy", &[ANY], ANY, copy),
    fixed("mustDeepCopy", &[ANY], ANY, copy),
    variadic("dig", &[ANY], ANY, dig),
];

/// The map at `at`, for reading.
fn read(args: &[Value], at: usize) -> Option<&Map> {
    match args.get(at) {
        Some(Value::Map(map)) => Some(map),
        _ => None,
    }
}

fn dict(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let entries = args
        .chunks(2)
        .map(|pair| {
            let value = pair.get(1).cloned().unwrap_or_else(|| Value::str(""));
            (to_str(&pair[0]), value)
        })
        .collect();
    Ok(Value::map(entries))
}

fn set(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let map = map(args, 0);
    if map.is_nil() {
        return Err(CallError::returned("assignment to entry in nil map"));
    }
    map.set(string(args, 1), any(args, 2).clone());
    Ok(Value::Map(map))
}

fn unset(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let map = map(args, 0);
    map.remove(bytes(args, 1));
    Ok(Value::Map(map))
}

fn pluck(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let key = bytes(args, 0);
    let found = (1..args.len()).filter_map(|at| read(args, at)?.get(key));
    Ok(Value::grown_list(found.collect()))
}

fn keys(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut keys = Vec::new();
    for at in 0..args.len() {
        if let Some(map) = read(args, at) {
            call.reserve_items(2 * keys.len() + map.len())?;
            map.with_entries(|entries| {
                keys.extend(entries.iter().map(|(key, _)| Value::Str(key.clone())));
            });
        }
    }
    Ok(Value::List(List::grown(Element::String, keys)))
}

fn values(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    call.reserve_items(read(args, 0).map_or(0, Map::len))?;
    let values = read(args, 0).map(|map| {
        map.with_entries(|entries| entries.iter().map(|(_, value)| value.clone()).collect())
    });
    Ok(Value::grown_list(values.unwrap_or_default()))
}

fn pick(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let Some(map) = read(args, 0) else {
        return Ok(Value::map(Vec::new()));
    };
    let picked = rest(args, 1).iter().filter_map(|key| {
        let key = to_str(key);
        map.get(key.as_bytes()).map(|value| (key, value))
    });
    Ok(Value::map(picked.collect()))
}

fn omit(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    reserve_entries(call, read(args, 0))?;
    let omitted: Vec<Str> = rest(args, 1).iter().map(to_str).collect();
    let mut entries = read(args, 0).map(Map::entries).unwrap_or_default();
    entries.retain(|(key, _)| !omitted.contains(key));
    Ok(Value::map(entries))
}

/// Fails unless a copy of the entries may be allocated.
fn reserve_entries(call: &Call<'_>, map: Option<&Map>) -> Result<(), CallError> {
    call.reserve(map.map_or(0, Map::len) * size_of::<(Str, Value)>())
}

fn merged(call: &Call<'_>, args: &[Value], overwrite: bool) -> CallResult {
    let mut target = map(args, 0);
    for at in 1..args.len() {
        let source = map(args, at);
        reserve_entries(call, Some(&source))?;
        if target.is_nil() && !source.is_nil() {
            target = Map::default();
        }
        merge_into(&target, &source, overwrite)?;
    }
    Ok(Value::Map(target))
}

fn copy(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let value = any(args, 0);
    if value.is_nil() {
        return Err(CallError::returned(
            "reflect: call of reflect.Value.Type on zero Value",
        ));
    }
    deep_copy(call, value, 0, &mut VisitBudget::new())
}

fn deep_copy(call: &Call<'_>, value: &Value, depth: usize, budget: &mut VisitBudget) -> CallResult {
    if !budget.visit(depth) {
        return Err(CallError::returned(too_long_to_traverse()));
    }
    Ok(match value {
        Value::Map(map) if map.is_nil() => Value::Map(Map::nil(map.ty())),
        Value::Map(map) => {
            reserve_entries(call, Some(map))?;
            let entries = map.with_entries(|entries| {
                entries
                    .iter()
                    .map(|(key, value)| {
                        Ok((key.clone(), deep_copy(call, value, depth + 1, budget)?))
                    })
                    .collect::<Result<_, CallError>>()
            })?;
            Value::Map(Map::from_entries(map.ty(), entries))
        }
        Value::List(list) if list.is_nil() => value.clone(),
        Value::List(list) => {
            call.reserve_items(list.items().len())?;
            let items = list
                .items()
                .iter()
                .map(|item| deep_copy(call, item, depth + 1, budget))
                .collect::<Result<_, _>>()?;
            Value::List(List::with_capacity(list.element(), items, list.capacity()))
        }
        other => other.clone(),
    })
}

fn dig(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let [keys @ .., default, dict] = args else {
        return Err(CallError::returned("dig needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(CallError::returned("dig needs at least three arguments"));
    }
    let mut map = plain_map(dict)?.clone();
    if let Some(wrong) = keys.iter().find(|key| !matches!(key, Value::Str(_))) {
        return Err(conversion(wrong, "string"));
    }
    for (at, key) in keys.iter().enumerate() {
        let Some(step) = map.get(&strval(key)) else {
            return Ok(default.clone());
        };
        if at + 1 == keys.len() {
            return Ok(step);
        }
        map = plain_map(&step)?.clone();
    }
    Ok(default.clone())
}

/// `dig` accepts only unnamed map types, not `.Values` itself.
fn plain_map(value: &Value) -> Result<&Map, CallError> {
    match value {
        Value::Map(map) if map.ty() == MapType::Any => Ok(map),
        other => Err(conversion(other, "map[string]interface {}")),
    }
}

fn conversion(value: &Value, expected: &str) -> CallError {
    let found = match value {
        Value::Nil => "nil".to_owned(),
        other => other.type_name(),
    };
    CallError::returned(format!(
        "interface conversion: interface {{}} is {found}, not {expected}"
    ))
}
