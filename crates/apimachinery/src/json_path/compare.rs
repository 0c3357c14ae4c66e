//! Compares the sides of a filter. As in Go, an integer and a float are not comparable.

use std::cmp::Ordering;

use serde_json::Value;

use super::EvaluateError;

pub(super) fn holds(operator: &str, left: &Value, right: &Value) -> Result<bool, EvaluateError> {
    let is_known = matches!(operator, "==" | "!=" | "<" | "<=" | ">" | ">=");
    if !is_known {
        return Err(EvaluateError::Operator(operator.to_owned()));
    }
    if let (Value::Bool(left), Value::Bool(right)) = (left, right) {
        return match operator {
            "==" => Ok(left == right),
            "!=" => Ok(left != right),
            _ => Err(EvaluateError::InvalidType),
        };
    }
    let order = order(left, right)?;
    Ok(match operator {
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        "<=" => order.is_some_and(Ordering::is_le),
        ">" => order == Some(Ordering::Greater),
        _ => order.is_some_and(Ordering::is_ge),
    })
}

fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, EvaluateError> {
    let is_basic =
        |value: &Value| matches!(value, Value::Number(_) | Value::String(_) | Value::Bool(_));
    if !is_basic(left) || !is_basic(right) {
        return Err(EvaluateError::InvalidType);
    }
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(Some(left.cmp(right))),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
                return Ok(Some(left.cmp(&right)));
            }
            match (left.as_f64(), right.as_f64()) {
                (Some(left), Some(right)) => Ok(left.partial_cmp(&right)),
                _ => Err(EvaluateError::Incompatible),
            }
        }
        _ => Err(EvaluateError::Incompatible),
    }
}
