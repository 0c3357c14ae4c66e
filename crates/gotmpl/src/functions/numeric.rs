//! Arithmetic. Integers have 64 bits and wrap around; the `f` variants use decimal arithmetic.

mod decimal;

use outrigger_gostd::strconv::{NumError, parse_float, parse_int};

use super::args::{any, bytes, float, int, rest};
use super::{CallResult, MAX_ITEMS, fixed, too_large, variadic};
use crate::fmt;
use crate::function::{Call, CallError, Function, Ty};
use crate::value::{Element, Kind, List, Value};
use decimal::Decimal;

const ANY: Ty = Ty::Any;
const FLOAT: Ty = Ty::Float64;
const INT: Ty = Ty::Int;
const INT64: Ty = Ty::Int64;
const INTS: Ty = Ty::Named("[]int");

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("atoi", &[Ty::String], INT, |_, args| {
        Ok(Value::Int(
            parse_int(bytes(args, 0), 10).unwrap_or_else(NumError::value),
        ))
    }),
    fixed("int64", &[ANY], INT64, |_, args| {
        Ok(Value::Int64(to_int64(any(args, 0))))
    }),
    fixed("int", &[ANY], INT, |_, args| {
        Ok(Value::Int(to_int64(any(args, 0))))
    }),
    fixed("float64", &[ANY], FLOAT, |_, args| {
        Ok(Value::Float(to_float64(any(args, 0))))
    }),
    fixed("toDecimal", &[ANY], INT64, |_, args| {
        let text = fmt::display(any(args, 0));
        Ok(Value::Int64(parse_int(&text, 8).unwrap_or(0)))
    }),
    variadic("seq", &[INT], Ty::String, seq),
    fixed("until", &[INT], INTS, |call, args| {
        let count = int(args, 0);
        let step = if count < 0 { -1 } else { 1 };
        Ok(int_list(counted(call, 0, count, step)?))
    }),
    fixed("untilStep", &[INT, INT, INT], INTS, |call, args| {
        let (start, stop, step) = (int(args, 0), int(args, 1), int(args, 2));
        Ok(int_list(counted(call, start, stop, step)?))
    }),
    fixed("add1", &[ANY], INT64, |_, args| {
        Ok(Value::Int64(to_int64(any(args, 0)).wrapping_add(1)))
    }),
    variadic("add", &[ANY], INT64, |_, args| {
        Ok(Value::Int64(fold_ints(0, args, i64::wrapping_add)))
    }),
    fixed("sub", &[ANY, ANY], INT64, |_, args| {
        Ok(Value::Int64(
            to_int64(any(args, 0)).wrapping_sub(to_int64(any(args, 1))),
        ))
    }),
    fixed("div", &[ANY, ANY], INT64, |_, args| {
        divide(args, i64::wrapping_div)
    }),
    fixed("mod", &[ANY, ANY], INT64, |_, args| {
        divide(args, i64::wrapping_rem)
    }),
    variadic("mul", &[ANY, ANY], INT64, |_, args| {
        Ok(Value::Int64(fold_ints(
            to_int64(any(args, 0)),
            rest(args, 1),
            i64::wrapping_mul,
        )))
    }),
    fixed("add1f", &[ANY], FLOAT, |_, args| {
        decimal_fold(any(args, 0), &[Value::Int(1)], Decimal::add)
    }),
    variadic("addf", &[ANY], FLOAT, |_, args| {
        decimal_fold(&Value::Float(0.0), args, Decimal::add)
    }),
    variadic("subf", &[ANY, ANY], FLOAT, |_, args| {
        decimal_fold(any(args, 0), rest(args, 1), Decimal::sub)
    }),
    variadic("divf", &[ANY, ANY], FLOAT, |_, args| {
        decimal_fold(any(args, 0), rest(args, 1), Decimal::div)
    }),
    variadic("mulf", &[ANY, ANY], FLOAT, |_, args| {
        decimal_fold(any(args, 0), rest(args, 1), Decimal::mul)
    }),
    variadic("biggest", &[ANY, ANY], INT64, max),
    variadic("max", &[ANY, ANY], INT64, max),
    variadic("min", &[ANY, ANY], INT64, |_, args| {
        Ok(Value::Int64(fold_ints(
            to_int64(any(args, 0)),
            rest(args, 1),
            i64::min,
        )))
    }),
    variadic("maxf", &[ANY, ANY], FLOAT, |_, args| {
        Ok(fold_floats(args, go_max))
    }),
    variadic("minf", &[ANY, ANY], FLOAT, |_, args| {
        Ok(fold_floats(args, go_min))
    }),
    fixed("ceil", &[ANY], FLOAT, |_, args| {
        Ok(Value::Float(to_float64(any(args, 0)).ceil()))
    }),
    fixed("floor", &[ANY], FLOAT, |_, args| {
        Ok(Value::Float(to_float64(any(args, 0)).floor()))
    }),
    variadic("round", &[ANY, INT, FLOAT], FLOAT, round),
];

/// `cast.ToInt64`: 0 for values that are not numbers.
pub(super) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Int(n) | Value::Int64(n) => *n,
        Value::Uint8(n) => i64::from(*n),
        Value::Uint64(n) => n.cast_signed(),
        Value::Float(x) => truncated(*x),
        Value::Bool(b) => i64::from(*b),
        Value::Str(text) => parse_int(without_zero_fraction(text.as_bytes()), 0).unwrap_or(0),
        Value::Object(object) => match (object.kind(), object.scalar()) {
            // The library converts months and weekdays, but not durations.
            (Kind::Int, Some(Value::Int(n))) => n,
            _ => 0,
        },
        _ => 0,
    }
}

/// `cast.ToFloat64`: 0 for values that are not numbers.
pub(super) fn to_float64(value: &Value) -> f64 {
    match value {
        Value::Float(x) => *x,
        Value::Str(text) => parse_float(text.as_bytes()).unwrap_or(0.0),
        #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
        Value::Uint64(n) => *n as f64,
        #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
        other => to_int64(other) as f64,
    }
}

/// The integer part; out of range, the result of the x86 conversion.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn truncated(x: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) {
        x as i64
    } else {
        i64::MIN
    }
}

/// `trimZeroDecimal`: `5.00` becomes `5`.
fn without_zero_fraction(text: &[u8]) -> &[u8] {
    let zeros = text.iter().rev().take_while(|byte| **byte == b'0').count();
    match text[..text.len() - zeros].strip_suffix(b".") {
        Some(whole) if zeros > 0 => whole,
        _ => text,
    }
}

fn fold_ints(start: i64, values: &[Value], combine: fn(i64, i64) -> i64) -> i64 {
    values.iter().map(to_int64).fold(start, combine)
}

fn max(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::Int64(fold_ints(
        to_int64(any(args, 0)),
        rest(args, 1),
        i64::max,
    )))
}

fn divide(args: &[Value], operation: fn(i64, i64) -> i64) -> CallResult {
    let divisor = to_int64(any(args, 1));
    if divisor == 0 {
        return Err(CallError::returned("runtime error: integer divide by zero"));
    }
    Ok(Value::Int64(operation(to_int64(any(args, 0)), divisor)))
}

fn fold_floats(args: &[Value], combine: fn(f64, f64) -> f64) -> Value {
    let first = to_float64(any(args, 0));
    Value::Float(rest(args, 1).iter().map(to_float64).fold(first, combine))
}

fn go_max(a: f64, b: f64) -> f64 {
    if a == f64::INFINITY || b == f64::INFINITY {
        f64::INFINITY
    } else if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == 0.0 && b == 0.0 {
        if a.is_sign_negative() { b } else { a }
    } else {
        a.max(b)
    }
}

fn go_min(a: f64, b: f64) -> f64 {
    -go_max(-a, -b)
}

type DecimalOperation = fn(&Decimal, &Decimal) -> Result<Decimal, CallError>;

fn decimal_fold(first: &Value, others: &[Value], operation: DecimalOperation) -> CallResult {
    let mut result = Decimal::from_float(to_float64(first))?;
    for other in others {
        result = operation(&result, &Decimal::from_float(to_float64(other))?)?;
    }
    Ok(Value::Float(result.to_float()))
}

/// Rounds up if the fraction is at least `on`, which is 0.5 by default.
fn round(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let on = if args.len() > 2 { float(args, 2) } else { 0.5 };
    let places = int(args, 1).clamp(-400, 400);
    let power = 10_f64.powi(i32::try_from(places).unwrap_or(0));
    let digit = power * to_float64(any(args, 0));
    let rounded = if digit.fract() >= on {
        digit.ceil()
    } else {
        digit.floor()
    };
    Ok(Value::Float(rounded / power))
}

/// `start`, `start + step`, ... excluding `stop`.
fn counted(call: &Call<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, CallError> {
    let mut numbers = Vec::new();
    let runs = if stop < start { step < 0 } else { step > 0 };
    if !runs {
        return Ok(numbers);
    }
    let steps = stop.abs_diff(start).div_ceil(step.unsigned_abs());
    let count = usize::try_from(steps).unwrap_or(usize::MAX);
    if count > MAX_ITEMS {
        return Err(too_large());
    }
    // The numbers, and the values that they become.
    call.reserve_items(2 * count)?;
    numbers.reserve(count);
    let mut at = start;
    for _ in 0..count {
        numbers.push(at);
        at = at.saturating_add(step);
    }
    Ok(numbers)
}

fn int_list(numbers: Vec<i64>) -> Value {
    Value::List(List::grown(
        Element::Int,
        numbers.into_iter().map(Value::Int).collect(),
    ))
}

/// Like the shell's `seq`: end; start and end; or start, step and end.
fn seq(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (start, step, end) = match args.len() {
        1 => (1, None, int(args, 0)),
        2 => (int(args, 0), None, int(args, 1)),
        3 => (int(args, 0), Some(int(args, 1)), int(args, 2)),
        _ => return Ok(Value::str("")),
    };
    let direction = if end < start { -1 } else { 1 };
    if direction < 0 && step.is_some_and(|step| step > 0) {
        return Ok(Value::str(""));
    }
    let numbers = counted(
        call,
        start,
        end.saturating_add(direction),
        step.unwrap_or(direction),
    )?;
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(Value::str(texts.join(" ")))
}
