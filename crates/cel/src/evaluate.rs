//! Evaluates nodes and counts their cost, which is the same as in cel-go.

mod attribute;
mod call;
pub(crate) mod cost;
mod fold;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Error;
use crate::meter::Meter;
use crate::plan::Node;
use crate::program::Activation;
use crate::value::compare::equal;
use crate::value::map::Key;
use crate::value::{Map, Object, Value};

type Result<T> = std::result::Result<T, Error>;

/// The cost of creating a list.
pub(crate) const LIST_COST: u64 = 10;
/// The cost of creating a map.
const MAP_COST: u64 = 30;

/// The cost of creating an object.
pub(crate) const OBJECT_COST: u64 = 40;

/// The state of an evaluation.
pub(crate) struct Frame<'f, 'v> {
    pub(crate) activation: &'f Activation<'v>,
    pub(crate) meter: Meter,
    /// The variables of comprehensions.
    pub(crate) slots: Vec<Slot<'f, 'v>>,
}

/// A variable of a comprehension.
pub(crate) enum Slot<'f, 'v> {
    /// Accumulators may be errors.
    Ready(Result<Value<'v>>),
    /// An accumulator whose initial value was not needed yet.
    Pending(&'f Node),
}

/// Evaluates a node.
pub(crate) fn evaluate<'f, 'v>(node: &'f Node, frame: &mut Frame<'f, 'v>) -> Result<Value<'v>> {
    match node {
        Node::Constant(value) => Ok(value.clone()),
        Node::Attribute(attribute) => attribute::evaluate(attribute, frame),
        Node::TestOnly(attribute) => attribute::test(attribute, frame),
        Node::And(terms) => logical(terms, false, frame),
        Node::Or(terms) => logical(terms, true, frame),
        Node::Equal(operands) => equality(operands, true, frame),
        Node::NotEqual(operands) => equality(operands, false, frame),
        Node::NotStrictlyFalse(operand) => not_strictly_false(operand, frame),
        Node::Member(operand, members) => {
            let value = evaluate(operand, frame)?;
            let is_member = Key::new(&value).is_some_and(|key| members.contains(&key));
            Ok(Value::Bool(is_member))
        }
        Node::OptionalOr(operands) => optional_or(operands, false, frame),
        Node::OptionalOrValue(operands) => optional_or(operands, true, frame),
        Node::Call(call) => call::evaluate(call, frame),
        Node::List(items) => {
            let list = list(items, frame);
            frame.meter.charge(LIST_COST)?;
            list
        }
        Node::Map(entries) => {
            let map = map(entries, frame);
            frame.meter.charge(MAP_COST)?;
            map
        }
        Node::Object(type_, fields) => {
            let object = object(type_, fields, frame);
            frame.meter.charge(OBJECT_COST)?;
            object
        }
        Node::Fold(fold) => fold::evaluate(fold, frame),
    }
}

/// Evaluates a list or map of literals, which costs nothing.
pub(crate) fn constant(node: &Node, meter: &mut Meter) -> Result<Value<'static>> {
    let activation = Activation::new();
    let mut frame = Frame {
        activation: &activation,
        meter: std::mem::replace(meter, Meter::new(u64::MAX)),
        slots: Vec::new(),
    };
    evaluate(node, &mut frame)
}

/// `&&` and `||`: an operand that determines the result wins over errors in the other one.
fn logical<'f, 'v>(
    terms: &'f [Node; 2],
    decisive: bool,
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let mut failure = None;
    for term in terms {
        match evaluate(term, frame) {
            Ok(Value::Bool(flag)) if flag == decisive => return Ok(Value::Bool(decisive)),
            Ok(Value::Bool(_)) => {}
            Ok(_) => failure = failure.or(Some(Error::NoSuchOverload)),
            Err(error) if error.is_cancellation() => return Err(error),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(Value::Bool(!decisive)), Err)
}

fn equality<'f, 'v>(
    operands: &'f [Node; 2],
    expected: bool,
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let [one, other] = operands;
    let (one, other) = (evaluate(one, frame), evaluate(other, frame));
    let is_opaque = expected && matches!(one, Ok(Value::Opaque(_)));
    let cost = if is_opaque {
        1
    } else {
        let [one, other] = [&one, &other].map(|operand| operand.as_ref().unwrap_or(&Value::Null));
        cost::traversal(cost::min_size(one, other))
    };
    frame.meter.charge(cost)?;
    let is_equal = match equal(&one?, &other?, &mut frame.meter) {
        Err(error) if !expected && !error.is_cancellation() => false,
        result => result?,
    };
    Ok(Value::Bool(is_equal == expected))
}

fn not_strictly_false<'f, 'v>(operand: &'f Node, frame: &mut Frame<'f, 'v>) -> Result<Value<'v>> {
    let result = evaluate(operand, frame);
    frame.meter.charge(1)?;
    match result {
        Ok(Value::Bool(flag)) => Ok(Value::Bool(flag)),
        Err(error) if error.is_cancellation() => Err(error),
        _ => Ok(Value::Bool(true)),
    }
}

/// `or` and `orValue`: the second operand is only evaluated if the first one has no value.
fn optional_or<'f, 'v>(
    operands: &'f [Node; 2],
    unwrap: bool,
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let [first, second] = operands;
    match evaluate(first, frame)? {
        Value::Optional(Some(value)) if unwrap => Ok(value.as_ref().clone()),
        Value::Optional(None) => evaluate(second, frame),
        other => Ok(other),
    }
}

fn list<'f, 'v>(items: &'f [(Node, bool)], frame: &mut Frame<'f, 'v>) -> Result<Value<'v>> {
    let mut values = Vec::with_capacity(items.len());
    for (item, optional) in items {
        match (evaluate(item, frame)?, optional) {
            (value, false) => values.push(value),
            (Value::Optional(value), true) => {
                values.extend(value.map(|value| value.as_ref().clone()));
            }
            (value, true) => {
                return Err(Error::function(format!(
                    "cannot initialize optional list element from non-optional value {value}"
                )));
            }
        }
    }
    frame.meter.work(values.len())?;
    Ok(Value::list(values))
}

fn map<'f, 'v>(entries: &'f [(Node, Node, bool)], frame: &mut Frame<'f, 'v>) -> Result<Value<'v>> {
    let mut map = BTreeMap::new();
    for (key, value, optional) in entries {
        let key_value = evaluate(key, frame)?;
        let value = evaluate(value, frame)?;
        let Some(key) = Key::new(&key_value) else {
            return Err(Error::function(format!(
                "unsupported key type: {}",
                key_value.type_name()
            )));
        };
        match (value, optional) {
            (value, false) => {
                map.insert(key, value);
            }
            (Value::Optional(Some(value)), true) => {
                map.insert(key, value.as_ref().clone());
            }
            (Value::Optional(None), true) => {
                map.remove(&key);
            }
            (value, true) => {
                return Err(Error::function(format!(
                    "cannot initialize optional entry '{key_value}' from non-optional value {value}"
                )));
            }
        }
    }
    frame.meter.work(map.len())?;
    Ok(Value::Map(Map::Entries(Arc::new(map))))
}

fn object<'f, 'v>(
    type_: &Arc<str>,
    fields: &'f [(Arc<str>, Node, bool)],
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let mut values = BTreeMap::new();
    for (name, value, optional) in fields {
        match (evaluate(value, frame)?, optional) {
            (value, false) => {
                values.insert(name.clone(), value);
            }
            (Value::Optional(value), true) => {
                let value = value.map(|value| value.as_ref().clone());
                values.extend(value.map(|value| (name.clone(), value)));
            }
            (value, true) => {
                return Err(Error::function(format!(
                    "cannot initialize optional entry '{name}' from non-optional value {value}"
                )));
            }
        }
    }
    frame.meter.work(values.len())?;
    Ok(Value::Object(Arc::new(Object {
        type_: type_.clone(),
        fields: values,
    })))
}
