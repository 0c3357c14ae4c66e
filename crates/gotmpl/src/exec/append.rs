//! `$list = append $list item`, which appends in place if nothing else refers to the list. Otherwise a loop of such
//! statements would copy the list each time.

use super::{Frame, ReflectValue, Result, State};
use crate::function::Signature;
use crate::functions::MAX_ITEMS;
use crate::ir::{Node, OperandKind, Pipe, Span, Variable};
use crate::registry::{FunctionId, Operation};
use crate::value::{List, Value};

impl Frame<'_> {
    /// The function, if the last command of the pipeline is `append`.
    pub(super) fn append_function(&self, pipe: &Pipe) -> Option<FunctionId> {
        let last = pipe.commands.of(&self.tree().commands).last()?;
        match self.operand(last.operands.start) {
            OperandKind::Function(id) if id.operation() == Operation::Append => Some(id),
            _ => None,
        }
    }
}

impl State<'_> {
    /// The value of a pipeline that ends with `append` and is assigned to a variable.
    pub(super) fn append_to_variable(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        pipe: &Pipe,
        id: FunctionId,
    ) -> Result<Value> {
        let last_id = pipe.commands.end - 1;
        let before = Span {
            end: last_id,
            ..pipe.commands
        };
        let piped = if before.is_empty() {
            None
        } else {
            Some(self.commands(frame, dot, before)?)
        };
        let Some(command) = frame.tree().commands.get(last_id as usize) else {
            return Ok(Value::Nil);
        };
        self.step(frame)?;
        let function = id.function();
        let (params, variadic) = (function.params, function.variadic);
        let operands = Span {
            start: command.operands.start + 1,
            end: command.operands.end,
        };
        frame.at = Some(Node::Operand(command.operands.start));
        let signature = Signature { params, variadic };
        let base =
            self.evaluate_arguments(frame, dot, function.name, signature, operands, piped)?;
        self.release(frame, pipe.variables.of(&frame.tree().variables), base);
        let appended = self.append_in_place(base);
        let result = match appended {
            Some(list) => Ok(Value::List(list)),
            None => self.operate(frame, function, Operation::Append, operands, base),
        };
        self.arguments.truncate(base);
        let node = Node::Command(last_id);
        let value = result.map_err(|error| frame.call_failed(function.name, node, error))?;
        self.check_size(frame, &value)?;
        Ok(value)
    }

    /// Clears the variable if it is the list at `base`: it is about to be assigned.
    fn release(&mut self, frame: &Frame<'_>, variables: &[Variable], base: usize) {
        let [
            Variable {
                slot: Some(slot), ..
            },
        ] = variables
        else {
            return;
        };
        let held = self.slots.get_mut(frame.slots + usize::from(*slot));
        if let (Some(Value::List(list)), Some(held)) = (self.arguments.get(base), held)
            && matches!(&held.value, Value::List(held) if held.ptr_eq(list))
        {
            *held = ReflectValue::default();
        }
    }

    /// The list at `base` with the item after it, if nothing else refers to the list.
    fn append_in_place(&mut self, base: usize) -> Option<List> {
        let [Value::List(list), item] = self.arguments.get_mut(base..)? else {
            return None;
        };
        if !list.is_appendable() || list.items().len() >= MAX_ITEMS {
            return None;
        }
        let list = std::mem::replace(list, List::empty());
        Some(list.appended(std::mem::take(item)))
    }
}
