//! The actual cost of calls, as cel-go and the cost estimator of Kubernetes define it.

use super::{LIST_COST, Result};
use crate::error::Error;
use crate::meter::Meter;
use crate::plan::CallNode;
use crate::value::{Opaque, Value};

/// The cost of an authorization check: an expression can make only two of them.
pub(crate) const AUTHORIZATION_COST: u64 = 350_000;

/// The cost of reading some characters.
pub(crate) fn traversal(size: u64) -> u64 {
    factor(size, 0.1)
}

/// A size multiplied by a factor, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are computed with floats in cel-go, and saturate"
)]
pub(crate) fn factor(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// The size of a value for costs: that of the value inside of an optional.
pub(super) fn size(value: &Value<'_>) -> u64 {
    match value {
        Value::Optional(Some(value)) => size(value),
        value => value.size(),
    }
}

/// The smaller one of two sizes. Long texts are not counted if the other one is short.
pub(super) fn min_size(one: &Value<'_>, other: &Value<'_>) -> u64 {
    let (Value::String(first), Value::String(second)) = (one, other) else {
        return size(one).min(size(other));
    };
    let (short, long) = if first.as_str().len() <= second.as_str().len() {
        (one, second)
    } else {
        (other, first)
    };
    let count = short.size();
    // A code point has four bytes at most.
    let at_least = u64::try_from(long.as_str().len() / 4).unwrap_or(u64::MAX);
    if count <= at_least {
        count
    } else {
        count.min(Value::String(long.clone()).size())
    }
}

/// The part of the cost that depends on the arguments. It is charged before the call.
pub(super) fn of_call(call: &CallNode, args: &[Value<'_>], meter: &mut Meter) -> Result<u64> {
    let at = |index: usize| args.get(index).map_or(1, Value::size);
    if let Some(cost) = of_list_extension(call.overload, args) {
        return Ok(cost);
    }
    let cost = match call.function.name {
        "check" => AUTHORIZATION_COST,
        "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace" | "name"
        | "allowed" | "reason" | "error" | "errored" => 1,
        "fieldSelector" | "labelSelector" => selector(at(1)),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            return args
                .first()
                .map_or(Ok(0), |list| deep_traversal(list, meter));
        }
        "ip" if call.overload == "cidr_ip" => 1,
        "jsonpatch.escapeKey"
        | "url"
        | "lowerAscii"
        | "upperAscii"
        | "substring"
        | "trim"
        | "ip"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver" => traversal(at(0)),
        "replace" | "split" | "ip.isCanonical" => factor(at(0), 0.2),
        "join" => 0,
        "find" | "findAll" => regex(at(0), at(1)),
        "containsIP" | "containsCIDR" => network(call, at(0), at(1)),
        "validate" => match args.first() {
            Some(Value::Opaque(Opaque::Format(format))) => regex(at(1), format.regex_size),
            _ => 1,
        },
        _ => return Ok(of_standard_call(call, args)),
    };
    Ok(cost)
}

/// Parsing a selector creates a list, and at most a requirement, an object with a list, for every two characters.
fn selector(length: u64) -> u64 {
    let requirements = factor(factor(length, 0.5), 50.0);
    traversal(length)
        .saturating_add(requirements)
        .saturating_add(LIST_COST)
}

fn regex(text: u64, pattern: u64) -> u64 {
    traversal(text.saturating_add(1)).saturating_mul(factor(pattern, 0.25))
}

fn network(call: &CallNode, network: u64, other: u64) -> u64 {
    let mut cost = traversal(network.saturating_mul(2));
    if call.function.name == "containsCIDR" {
        cost = cost.saturating_add(traversal(network)).saturating_add(1);
    }
    if call.overload.ends_with("_string") {
        cost = cost.saturating_add(traversal(other));
    }
    cost
}

fn of_standard_call(call: &CallNode, args: &[Value<'_>]) -> u64 {
    let at = |index: usize| args.get(index).map_or(1, size);
    match call.overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => traversal(at(0)),
        "in_list" => at(1),
        "add_string" | "add_bytes" => traversal(at(0).saturating_add(at(1))),
        "matches_string" => regex(at(0), at(1)),
        "contains_string" => traversal(at(0)).saturating_mul(traversal(at(1))),
        overload if compares_text(overload) => match args {
            [one, other] => traversal(min_size(one, other)),
            _ => 1,
        },
        _ => 1,
    }
}

fn compares_text(overload: &str) -> bool {
    let is_relation = overload.starts_with("less_") || overload.starts_with("greater_");
    is_relation && (overload.ends_with("_string") || overload.ends_with("_bytes"))
}

/// The cost of the `lists` and `sets` extensions.
fn of_list_extension(overload: &str, args: &[Value<'_>]) -> Option<u64> {
    /// A call that creates a list.
    const ALLOCATION: u64 = 11;
    let at = |index: usize| args.get(index).map_or(1, Value::size);
    let self_compare = |index: usize| {
        let size = at(index);
        let first = match args.get(index) {
            Some(Value::List(list)) => list.get(0),
            _ => None,
        };
        let is_text = matches!(first, Some(Ok(Value::String(_) | Value::Bytes(_))));
        let per_pair = if is_text { 2.1 } else { 2.0 };
        floor_factor(size.saturating_mul(size), per_pair).saturating_add(ALLOCATION)
    };
    Some(match overload {
        "list_flatten" => at(0).saturating_add(ALLOCATION),
        "list_flatten_int" => {
            let depth = match args.get(1) {
                Some(Value::Int(depth)) => *depth,
                _ => 1,
            };
            match u64::try_from(depth) {
                Ok(depth) => at(0).saturating_mul(depth).saturating_add(ALLOCATION),
                // The product is converted to an unsigned number in cel-go.
                Err(_) => at(0)
                    .wrapping_mul(depth.cast_unsigned())
                    .wrapping_add(ALLOCATION),
            }
        }
        "list_distinct" => self_compare(0),
        // The cost of these depends on the result.
        "list_slice" | "lists_range" | "list_reverse" => 0,
        "list_sets_contains_list" | "list_sets_intersects_list" => {
            at(0).saturating_mul(at(1)).saturating_add(1)
        }
        "list_sets_equivalent_list" => at(0)
            .saturating_mul(at(1))
            .saturating_mul(2)
            .saturating_add(1),
        overload if overload.ends_with("_sort") => self_compare(0),
        overload if overload.ends_with("_sortByAssociatedKeys") => self_compare(1),
        _ => return None,
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are computed with floats in cel-go, and saturate"
)]
fn floor_factor(size: u64, factor: f64) -> u64 {
    (size as f64 * factor) as u64
}

/// The part of the cost that depends on the result.
pub(super) fn of_result(call: &CallNode, result: &Value<'_>) -> u64 {
    match call.overload {
        "list_slice" | "lists_range" | "list_reverse" => result.size().saturating_add(11),
        _ if call.function.name == "join" => factor(result.size(), 0.2),
        _ => 0,
    }
}

/// The cost of reading all of a value.
fn deep_traversal(value: &Value<'_>, meter: &mut Meter) -> Result<u64> {
    meter.work(1)?;
    let bytes = |length: usize| floor_factor(u64::try_from(length).unwrap_or(u64::MAX), 0.1);
    match value {
        Value::String(text) => Ok(bytes(text.as_str().len())),
        Value::Bytes(content) => Ok(bytes(content.len())),
        Value::List(list) => {
            let mut cost = 0_u64;
            for item in list.iter() {
                let item = item.map_or(Ok(1), |item| deep_traversal(&item, meter))?;
                cost = bounded(cost.saturating_add(item), meter)?;
            }
            Ok(cost)
        }
        Value::Map(map) => {
            let mut cost = 0_u64;
            for key in map.keys() {
                let value = match map.find(&key) {
                    Some(Ok(value)) => deep_traversal(&value, meter)?,
                    _ => 1,
                };
                let key = deep_traversal(&key, meter)?;
                cost = bounded(cost.saturating_add(key).saturating_add(value), meter)?;
            }
            Ok(cost)
        }
        _ => Ok(1),
    }
}

fn bounded(cost: u64, meter: &Meter) -> Result<u64> {
    if cost > meter.remaining() {
        return Err(Error::CostLimitExceeded);
    }
    Ok(cost)
}
