//! Evaluates calls of functions.

use std::mem::replace;

use super::{Frame, Result, Slot, cost, evaluate as evaluate_node};
use crate::allowance::regex_program;
use crate::error::Error;
use crate::functions::regex;
use crate::meter::Meter;
use crate::plan::{CallNode, Node};
use crate::value::Value;

/// Evaluates a call.
pub(super) fn evaluate<'f, 'v>(call: &'f CallNode, frame: &mut Frame<'f, 'v>) -> Result<Value<'v>> {
    match call.args.as_slice() {
        [] => call_with(call, &mut [], frame),
        [_] => arguments::<1>(call, frame),
        [_, _] => arguments::<2>(call, frame),
        [_, _, _] => arguments::<3>(call, frame),
        _ => arguments::<4>(call, frame),
    }
}

fn arguments<'f, 'v, const N: usize>(
    call: &'f CallNode,
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let mut args = [const { Value::Null }; N];
    let mut failure = None;
    let last = call.args.len().saturating_sub(1);
    for (i, (node, arg)) in call.args.iter().zip(&mut args).enumerate() {
        let value = match call.accumulator {
            Some(slot) if i == 0 => take(slot, frame),
            _ => evaluate_node(node, frame),
        };
        match value {
            Ok(value) => *arg = value,
            Err(error) if error.is_cancellation() => return Err(error),
            Err(error) if call.is_variadic && i < last => return Err(error),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(error) = failure {
        let cost = cost::of_call(call, &args, &mut frame.meter)?;
        frame.meter.charge(cost)?;
        return Err(error);
    }
    call_with(call, &mut args, frame)
}

/// Takes the accumulator out of its slot, so that it can be changed in place. The comprehension sets it again.
fn take<'v>(slot: usize, frame: &mut Frame<'_, 'v>) -> Result<Value<'v>> {
    frame.meter.charge(1)?;
    match frame.slots.get_mut(slot) {
        Some(Slot::Ready(value)) => replace(value, Ok(Value::Null)),
        _ => frame.slot(slot),
    }
}

fn call_with<'f, 'v>(
    call: &'f CallNode,
    args: &mut [Value<'v>],
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let meter = &mut frame.meter;
    let cost = cost::of_call(call, args, meter)?;
    meter.charge(cost)?;
    let result = call.call(args, meter);
    if let Err(error) = &result
        && error.is_cancellation()
    {
        return result;
    }
    let cost = cost::of_result(call, result.as_ref().unwrap_or(&Value::Null));
    meter.charge(cost)?;
    result
}

impl CallNode {
    fn call<'v>(&self, args: &mut [Value<'v>], meter: &mut Meter) -> Result<Value<'v>> {
        if let Some(literal) = &self.regex {
            let program = regex_program(literal).map_err(|_| Error::Interrupted)?;
            return regex::call(self.function.name, &program.regexp, args, meter);
        }
        let Some(implementation) = self.implementation else {
            return self.function.dispatch(meter, args);
        };
        if self.function.singleton.is_some() {
            return implementation(meter, args);
        }
        if !self.function.accepts(self.overload, args) {
            return Err(self.function.no_such_overload(args));
        }
        implementation(meter, args)
    }

    /// Calls a function whose arguments are all constants.
    pub(crate) fn call_with_constants(&self, meter: &mut Meter) -> Result<Value<'static>> {
        let mut args: Vec<Value<'static>> = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            match arg {
                Node::Constant(value) => args.push(value.clone()),
                _ => return Err(Error::NoSuchOverload),
            }
        }
        self.call(&mut args, meter)
    }
}
