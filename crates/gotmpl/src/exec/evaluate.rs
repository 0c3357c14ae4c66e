//! Pipelines and commands.

use super::{Frame, ReflectValue, Result, State};
use crate::error::ExecError;
use crate::ir::{Command, Node, Number, Operand, OperandKind, Slot, Span, Variable, print};
use crate::value::{Str, Value};

impl<'f> Frame<'f> {
    /// The variables that a pipeline declares or assigns.
    pub(super) fn variables(&self, pipe: u32) -> &'f [Variable] {
        let tree = self.tree();
        let variables = tree.pipes.get(pipe as usize).map(|pipe| pipe.variables);
        variables.unwrap_or_default().of(&tree.variables)
    }

    pub(super) fn operand(&self, id: u32) -> OperandKind {
        let operand = self.tree().operands.get(id as usize);
        operand.map_or(OperandKind::Nil, |operand: &Operand| operand.kind)
    }

    #[cold]
    fn undefined(&self, name: Span) -> ExecError {
        let name = String::from_utf8_lossy(self.tree().text(name));
        self.error(format!("undefined variable: {name}"))
    }

    /// Fails if there are arguments, which only functions and methods take.
    fn reject_arguments(&self, operands: Span, last: Option<&Value>) -> Result<()> {
        if operands.len() <= 1 && last.is_none() {
            return Ok(());
        }
        let first = print::print(self.tree(), Node::Operand(operands.start));
        Err(self.error(format!("can't give argument to non-function {first}")))
    }

    /// `idealConstant`: the value of an untyped constant.
    pub(super) fn constant(&self, kind: OperandKind) -> Result<Value> {
        match kind {
            OperandKind::Bool(value) => Ok(Value::Bool(value)),
            OperandKind::Literal(id) => Ok(self.file.literal(id)),
            OperandKind::Number(id) => match self.tree().numbers.get(id as usize) {
                Some(number) => self.ideal_number(number),
                None => Ok(Value::Nil),
            },
            _ => Ok(Value::Nil),
        }
    }

    fn ideal_number(&self, number: &Number) -> Result<Value> {
        let text = self.tree().text(number.text);
        if let Some(float) = number.float
            && is_float_syntax(text)
        {
            return Ok(Value::Float(float));
        }
        number.int.map(Value::Int).ok_or_else(|| {
            let text = String::from_utf8_lossy(text);
            self.error(format!("{text} overflows int"))
        })
    }
}

impl State<'_> {
    /// Evaluates a pipeline and sets its variables. A nil result is untyped.
    pub(super) fn pipeline(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        id: u32,
    ) -> Result<Value> {
        self.check_depth(frame)?;
        frame.at = Some(Node::Pipe(id));
        let Some(pipe) = frame.tree().pipes.get(id as usize) else {
            return Ok(Value::Nil);
        };
        let value = if pipe.is_text_pipeline {
            let start = self.out.len();
            self.text_pipeline(frame, dot, pipe.commands)?;
            let text = Str::from(&self.out[start..]);
            self.out.truncate(start);
            let text = Value::Str(text);
            self.check_size(frame, &text)?;
            text
        } else if pipe.assigns
            && let Some(append) = frame.append_function(pipe)
        {
            self.append_to_variable(frame, dot, pipe, append)?
        } else {
            self.commands(frame, dot, pipe.commands)?
        };
        for variable in pipe.variables.of(&frame.tree().variables) {
            self.assign(frame, variable, ReflectValue::concrete(value.clone()))?;
        }
        Ok(value)
    }

    pub(super) fn commands(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        commands: Span,
    ) -> Result<Value> {
        let mut value = None;
        let list = commands.of(&frame.tree().commands);
        for (id, command) in commands.indexes().zip(list) {
            value = Some(self.command(frame, dot, id, command, value)?.value);
        }
        Ok(value.unwrap_or_default())
    }

    pub(super) fn assign(
        &mut self,
        frame: &Frame<'_>,
        variable: &Variable,
        value: ReflectValue,
    ) -> Result<()> {
        let target = variable
            .slot
            .and_then(|slot| self.slots.get_mut(frame.slots + usize::from(slot)));
        if let Some(target) = target {
            *target = value;
            return Ok(());
        }
        Err(frame.undefined(variable.name))
    }

    /// `last` is the result of the preceding command, which becomes the last argument.
    fn command(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        id: u32,
        command: &Command,
        last: Option<Value>,
    ) -> Result<ReflectValue> {
        let first = command.operands.start;
        match frame.operand(first) {
            OperandKind::Field { names } => {
                frame.at = Some(Node::Operand(first));
                self.field_chain(frame, dot, dot, names, Some(command.operands), last)
            }
            OperandKind::Chain { inner, names } => {
                let receiver = self.chain_receiver(frame, dot, first, inner)?;
                self.field_chain(frame, dot, &receiver, names, Some(command.operands), last)
            }
            OperandKind::Function(function) => {
                frame.at = Some(Node::Operand(first));
                let arguments = Span {
                    start: first + 1,
                    end: command.operands.end,
                };
                self.call(frame, dot, function, Node::Command(id), arguments, last)
            }
            OperandKind::Pipe(pipe) => {
                frame.reject_arguments(command.operands, last.as_ref())?;
                self.pipeline(frame, dot, pipe).map(ReflectValue::concrete)
            }
            OperandKind::Variable { slot, names } => {
                frame.at = Some(Node::Operand(first));
                let value = self.variable(frame, slot, names)?;
                if names.len() == 1 {
                    frame.reject_arguments(command.operands, last.as_ref())?;
                    return Ok(value);
                }
                let names = after_first(names);
                self.field_chain(frame, dot, &value, names, Some(command.operands), last)
            }
            constant => {
                frame.at = Some(Node::Operand(first));
                frame.reject_arguments(command.operands, last.as_ref())?;
                match constant {
                    OperandKind::Nil => Err(frame.error("nil is not a command")),
                    OperandKind::Dot => Ok(dot.clone()),
                    _ => frame.constant(constant).map(ReflectValue::concrete),
                }
            }
        }
    }

    pub(super) fn variable(
        &self,
        frame: &Frame<'_>,
        slot: Slot,
        names: Span,
    ) -> Result<ReflectValue> {
        let value = slot.and_then(|slot| self.slots.get(frame.slots + usize::from(slot)));
        if let Some(value) = value {
            return Ok(value.clone());
        }
        let name = names.of(&frame.tree().names).first().copied();
        Err(frame.undefined(name.unwrap_or_default()))
    }

    /// The receiver of a chain, such as `(index .list 0)` of `(index .list 0).name`.
    pub(super) fn chain_receiver(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        chain: u32,
        inner: u32,
    ) -> Result<ReflectValue> {
        frame.at = Some(Node::Operand(chain));
        match frame.operand(inner) {
            OperandKind::Pipe(pipe) => {
                frame.at = Some(Node::Operand(inner));
                self.pipeline(frame, dot, pipe).map(ReflectValue::concrete)
            }
            OperandKind::Function(function) => {
                frame.at = Some(Node::Operand(inner));
                let none = Span::default();
                self.call(frame, dot, function, Node::Operand(inner), none, None)
            }
            _ => Ok(ReflectValue::default()),
        }
    }
}

pub(super) fn after_first(names: Span) -> Span {
    Span {
        start: names.start + 1,
        end: names.end,
    }
}

fn is_float_syntax(text: &[u8]) -> bool {
    let has = |set: &[u8]| text.iter().any(|byte| set.contains(byte));
    let is_hex_int = matches!(text, [b'0', b'x' | b'X', _, ..]) && !has(b"pP");
    !is_hex_int && text.first() != Some(&b'\'') && has(b".eEpP")
}
