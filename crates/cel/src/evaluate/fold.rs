//! Evaluates comprehensions.

use super::{Frame, Result, Slot, evaluate as evaluate_node};
use crate::error::Error;
use crate::plan::{Fold, Node};
use crate::value::Value;

/// Evaluates a comprehension.
pub(super) fn evaluate<'f, 'v>(fold: &'f Fold, frame: &mut Frame<'f, 'v>) -> Result<Value<'v>> {
    let range = evaluate_node(&fold.range, frame)?;
    let init = match &fold.init {
        Node::Constant(value) => Slot::Ready(Ok(value.clone())),
        init => Slot::Pending(init),
    };
    set(frame, fold.accumulator, init);
    match &range {
        Value::List(list) => {
            for index in 0..list.len() {
                let Some(item) = list.get(index) else { break };
                let key = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                let (first, second) = match fold.variable2 {
                    Some(_) => (Ok(key), Some(item)),
                    None => (item, None),
                };
                if !iterate(fold, first, second, frame)? {
                    break;
                }
            }
        }
        Value::Map(map) => {
            for key in map.keys() {
                let second = fold.variable2.and_then(|_| map.find(&key));
                if !iterate(fold, Ok(key), second, frame)? {
                    break;
                }
            }
        }
        other => {
            let type_ = other.go_type();
            return Err(Error::function(format!(
                "got '{type_}', expected iterable type"
            )));
        }
    }
    let result = evaluate_node(&fold.result, frame);
    set(frame, fold.accumulator, Slot::Ready(Ok(Value::Null)));
    result
}

fn set<'f, 'v>(frame: &mut Frame<'f, 'v>, index: usize, slot: Slot<'f, 'v>) {
    if let Some(place) = frame.slots.get_mut(index) {
        *place = slot;
    }
}

impl<'v> Frame<'_, 'v> {
    /// The value of a variable. The initial value of an accumulator is evaluated when it is read first.
    pub(super) fn slot(&mut self, index: usize) -> Result<Value<'v>> {
        let init = match self.slots.get(index) {
            Some(Slot::Ready(value)) => return value.clone(),
            Some(Slot::Pending(init)) => *init,
            None => return Ok(Value::Null),
        };
        // Comprehensions inside of the initial value use the slots of those that are evaluated now.
        let count = self.slots.len();
        let saved = self.slots.split_off(index);
        self.slots
            .resize_with(count, || Slot::Ready(Ok(Value::Null)));
        let value = evaluate_node(init, self);
        self.slots.truncate(index);
        self.slots.extend(saved);
        set(self, index, Slot::Ready(value.clone()));
        value
    }
}

/// One iteration. Returns whether there may be a next one.
fn iterate<'f, 'v>(
    fold: &'f Fold,
    first: Result<Value<'v>>,
    second: Option<Result<Value<'v>>>,
    frame: &mut Frame<'f, 'v>,
) -> Result<bool> {
    frame.meter.iteration()?;
    set(frame, fold.variable, Slot::Ready(first));
    if let (Some(slot), Some(second)) = (fold.variable2, second) {
        set(frame, slot, Slot::Ready(second));
    }
    match evaluate_node(&fold.condition, frame) {
        Ok(Value::Bool(false)) => return Ok(false),
        Err(error) if error.is_cancellation() => return Err(error),
        _ => {}
    }
    let step = evaluate_node(&fold.step, frame);
    if let Err(error) = &step
        && error.is_cancellation()
    {
        return Err(error.clone());
    }
    set(frame, fold.accumulator, Slot::Ready(step));
    Ok(true)
}
