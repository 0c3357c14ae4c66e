//! Function calls.

use super::{Frame, ReflectValue, Result, State};
use crate::error::ExecError;
use crate::function::{Call, CallError, Function, INTERRUPTED, Signature, Ty};
use crate::ir::{Node, OperandKind, Span, print};
use crate::registry::{FunctionId, Operation};
use crate::rendering;
use crate::value::{Contents, Kind, Value};

/// The interval at which the host's interrupt is checked before a call, in steps. A call may take a second.
const CALLS_BETWEEN_CHECKS: u64 = 16;

impl State<'_> {
    /// Calls a function. `node` is the location of errors that the function returns.
    pub(super) fn call(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        id: FunctionId,
        node: Node,
        operands: Span,
        last: Option<Value>,
    ) -> Result<ReflectValue> {
        self.step(frame)?;
        let operation = id.operation();
        if matches!(operation, Operation::And | Operation::Or) {
            return self.and_or(frame, dot, id, operands, last);
        }
        let function = id.function();
        let length_of = match operation {
            Operation::Len => self.len_operand(frame, dot, operands, last.as_ref())?,
            _ => None,
        };
        let result = if let Some(item) = length_of {
            length(&item).map_err(ExecError::from_call)
        } else {
            let signature = signature(function);
            let base =
                self.evaluate_arguments(frame, dot, function.name, signature, operands, last)?;
            let result = self.operate(frame, function, operation, operands, base);
            self.arguments.truncate(base);
            result
        };
        let value = result.map_err(|error| frame.call_failed(function.name, node, error))?;
        self.check_size(frame, &value)?;
        Ok(ReflectValue {
            value,
            is_interface: function.result == Ty::Any,
        })
    }

    /// Runs a function on the arguments from `base` on. The error has no location yet.
    pub(super) fn operate(
        &mut self,
        frame: &Frame<'_>,
        function: &Function,
        operation: Operation,
        operands: Span,
        base: usize,
    ) -> Result<Value> {
        match operation {
            Operation::Include | Operation::Tpl => {
                let start = self.out.len();
                self.write_text(operation, base)?;
                let text = Value::str(&self.out[start..]);
                self.out.truncate(start);
                Ok(text)
            }
            Operation::Call => Err(self.call_error(frame, operands, base)),
            Operation::Required | Operation::Fail | Operation::Lookup if self.engine.lint => {
                let arguments = &self.arguments[base..];
                Ok(rendering::lint_result(operation, arguments, self.host))
            }
            _ => {
                if self.steps.is_multiple_of(CALLS_BETWEEN_CHECKS) && self.host.interrupted() {
                    return Err(ExecError::plain(INTERRUPTED));
                }
                let mut call = Call {
                    host: self.host,
                    dialect: &self.engine.dialect,
                    memory_bytes: self.limits().memory_bytes,
                };
                (function.body)(&mut call, &self.arguments[base..]).map_err(ExecError::from_call)
            }
        }
    }

    /// `and` and `or` evaluate arguments only until the result is known.
    fn and_or(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        id: FunctionId,
        operands: Span,
        last: Option<Value>,
    ) -> Result<ReflectValue> {
        let function = id.function();
        if operands.is_empty() && last.is_none() {
            let name = function.name;
            let message = format!("wrong number of args for {name}: want at least 1 got 0");
            return Err(frame.error(message));
        }
        let decides = id.operation() == Operation::Or;
        let mut value = ReflectValue::default();
        for operand in operands.indexes() {
            frame.at = Some(Node::Operand(operand));
            let kind = frame.operand(operand);
            value = self.operand(frame, dot, operand, kind)?;
            if value.value.is_true() == decides {
                return Ok(value);
            }
        }
        Ok(last.map_or(value, ReflectValue::concrete))
    }

    /// The argument of `len`, which distinguishes a nil interface from an untyped nil. `None` if `len` is called another
    /// way.
    fn len_operand(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        operands: Span,
        last: Option<&Value>,
    ) -> Result<Option<ReflectValue>> {
        if operands.len() != 1 || last.is_some() {
            return Ok(None);
        }
        let operand = operands.start;
        frame.at = Some(Node::Operand(operand));
        let kind = frame.operand(operand);
        if matches!(kind, OperandKind::Nil) {
            return Ok(None);
        }
        self.operand(frame, dot, operand, kind).map(Some)
    }

    /// The error of `call`, which always fails: no value is a function.
    fn call_error(&self, frame: &Frame<'_>, operands: Span, base: usize) -> ExecError {
        let callee = self.arguments.get(base).unwrap_or(&Value::Nil);
        if operands.is_empty() && !self.engine.dialect.range_over_int {
            // Go 1.23 panics if the function is piped in.
            return ExecError::panicked("runtime error: index out of range [0] with length 0");
        }
        if callee.is_nil() {
            return ExecError::plain("call of nil");
        }
        let name = match callee {
            _ if !operands.is_empty() => print::print(frame.tree(), Node::Operand(operands.start)),
            Value::Str(name) => name.to_text().into_owned(),
            other => format!("<{} Value>", other.type_name()),
        };
        let type_name = callee.type_name();
        ExecError::plain(format!("non-function {name} of type {type_name}"))
    }
}

fn signature(function: &Function) -> Signature {
    Signature {
        params: function.params,
        variadic: function.variadic,
    }
}

/// Go's `len` of an argument.
fn length(item: &ReflectValue) -> std::result::Result<Value, CallError> {
    if item.value.is_nil() && item.is_interface {
        return Err(CallError::returned("len of nil pointer"));
    }
    length_of(&item.value)
}

pub(crate) fn length_of(item: &Value) -> std::result::Result<Value, CallError> {
    let length = match item {
        Value::Nil => {
            return Err(CallError::returned(
                "reflect: call of reflect.Value.Type on zero Value",
            ));
        }
        Value::Str(text) => text.len(),
        Value::List(list) => list.items().len(),
        Value::Map(map) => map.len(),
        Value::Object(object) => match object.contents() {
            Contents::List(list) => list.items().len(),
            Contents::Map(map) => map.len(),
            Contents::None => {
                let name = object.type_name();
                let name = match object.kind() {
                    Kind::Ptr => name.trim_start_matches('*'),
                    _ => name,
                };
                return Err(CallError::Returned(format!("len of type {name}")));
            }
        },
        other => {
            let name = other.type_name();
            return Err(CallError::Returned(format!("len of type {name}")));
        }
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

impl ExecError {
    pub(crate) fn from_call(error: CallError) -> Self {
        match error {
            CallError::Failed(message) => Self::warning(&message),
            other => Self::plain(other.to_string()),
        }
    }
}
