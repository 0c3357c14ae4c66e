//! Pipelines such as `include "x" . | nindent 4`, which write their text to the output and transform it in place, without
//! intermediate strings.

use outrigger_gostd::strconv::append_quote;

use super::{Frame, ReflectValue, Result, State};
use crate::error::ExecError;
use crate::function::Signature;
use crate::ir::{Command, Node, OperandKind, Span};
use crate::registry::{FunctionId, Operation, TextFilter};
use crate::traversal::MAX_TEXT;
use crate::value::Value;

impl State<'_> {
    /// Appends the text of the pipeline to the output.
    pub(super) fn text_pipeline(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        commands: Span,
    ) -> Result<()> {
        self.check_depth(frame)?;
        let start = self.out.len();
        let list = commands.of(&frame.tree().commands);
        let Some((first, mut filters)) = list.split_first() else {
            return Ok(());
        };
        let OperandKind::Function(source) = frame.operand(first.operands.start) else {
            return Ok(());
        };
        let mut indent = 0;
        if source.operation() == Operation::ToYaml
            && let Some((filter, others)) = filters.split_first()
            && let OperandKind::Function(function) = frame.operand(filter.operands.start)
            && let Some(known @ (TextFilter::Indent | TextFilter::Nindent)) = function.text_filter()
        {
            // The YAML emitter indents by itself.
            indent = usize::try_from(number(frame, filter)).unwrap_or_default();
            if known == TextFilter::Nindent {
                self.out.push(b'\n');
            }
            filters = others;
        }
        self.write_source(frame, dot, source, commands.start, first, indent)?;
        for command in filters {
            if let OperandKind::Function(function) = frame.operand(command.operands.start) {
                self.step(frame)?;
                self.check_filter(frame, function, command, start)?;
                self.filter(frame, function, command, start);
            }
        }
        if list.len() > 1 {
            // The last operand that Go evaluates.
            frame.at = list
                .last()
                .map(|command| Node::Operand(command.operands.end - 1));
        }
        Ok(())
    }

    /// Appends the result of the first command.
    fn write_source(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        id: FunctionId,
        command_id: u32,
        command: &Command,
        indent: usize,
    ) -> Result<()> {
        self.step(frame)?;
        let function = id.function();
        let arguments = Span {
            start: command.operands.start + 1,
            end: command.operands.end,
        };
        frame.at = Some(Node::Operand(command.operands.start));
        let signature = Signature {
            params: function.params,
            variadic: function.variadic,
        };
        let base =
            self.evaluate_arguments(frame, dot, function.name, signature, arguments, None)?;
        let result = match id.operation() {
            Operation::ToYaml => {
                let value = self.arguments.get(base).unwrap_or(&Value::Nil);
                crate::yaml::append_indented(&mut self.out, value, indent);
                Ok(())
            }
            operation => self.write_text(operation, base),
        };
        self.arguments.truncate(base);
        result.map_err(|error: ExecError| {
            frame.call_failed(function.name, Node::Command(command_id), error)
        })
    }

    /// Fails if the text from `start` on, or its indentation, is too large.
    fn check_filter(
        &self,
        frame: &Frame<'_>,
        id: FunctionId,
        command: &Command,
        start: usize,
    ) -> Result<()> {
        let max = self.limits().value_bytes.min(MAX_TEXT);
        let text = &self.out[start..];
        let spaces = match id.text_filter() {
            Some(TextFilter::Indent | TextFilter::Nindent) => {
                usize::try_from(number(frame, command)).unwrap_or_default()
            }
            _ => 0,
        };
        // Lines are counted only if there could be too many.
        if text.len().saturating_mul(spaces + 1) <= max {
            return Ok(());
        }
        let lines = memchr::memchr_iter(b'\n', text).count() + 1;
        if text.len() + lines * spaces > max {
            return Err(self.value_too_large(frame));
        }
        Ok(())
    }

    /// Transforms the output from `start` on.
    fn filter(&mut self, frame: &Frame<'_>, id: FunctionId, command: &Command, start: usize) {
        let number = number(frame, command);
        let literal = match frame.operand(command.operands.start + 1) {
            OperandKind::Literal(id) => frame.tree().literal(id),
            _ => &[],
        };
        match id.text_filter() {
            Some(TextFilter::Indent) => self.indent(start, number),
            Some(TextFilter::Nindent) => {
                self.indent(start, number);
                self.out.insert(start, b'\n');
            }
            Some(TextFilter::Quote) => {
                let mut quoted = Vec::with_capacity(self.out.len() - start + 2);
                append_quote(&mut quoted, &self.out[start..]);
                self.out.truncate(start);
                self.out.extend_from_slice(&quoted);
            }
            Some(TextFilter::Squote) => {
                self.out.insert(start, b'\'');
                self.out.push(b'\'');
            }
            Some(TextFilter::Trim) => trim(&mut self.out, start),
            Some(TextFilter::TrimPrefix) if self.out[start..].starts_with(literal) => {
                self.out.drain(start..start + literal.len());
            }
            Some(TextFilter::TrimSuffix) if self.out[start..].ends_with(literal) => {
                self.out.truncate(self.out.len() - literal.len());
            }
            Some(TextFilter::Trunc) => trunc(&mut self.out, start, number),
            Some(TextFilter::TrimPrefix | TextFilter::TrimSuffix) | None => {}
        }
    }

    /// Indents each line by `spaces`.
    fn indent(&mut self, start: usize, spaces: i64) {
        let spaces = usize::try_from(spaces).unwrap_or_default();
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.extend_from_slice(&self.out[start..]);
        self.out.truncate(start);
        let mut line_start = 0;
        for newline in memchr::memchr_iter(b'\n', &text) {
            push_spaces(&mut self.out, spaces);
            self.out.extend_from_slice(&text[line_start..=newline]);
            line_start = newline + 1;
        }
        push_spaces(&mut self.out, spaces);
        self.out.extend_from_slice(&text[line_start..]);
        self.text = text;
    }
}

/// The number constant that is the argument of a filter.
fn number(frame: &Frame<'_>, command: &Command) -> i64 {
    let number = match frame.operand(command.operands.start + 1) {
        OperandKind::Number(id) => frame.tree().numbers.get(id as usize),
        _ => None,
    };
    number.and_then(|number| number.int).unwrap_or_default()
}

fn push_spaces(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len() + count, b' ');
}

/// `strings.TrimSpace` from `start` on.
fn trim(out: &mut Vec<u8>, start: usize) {
    let text = String::from_utf8_lossy(&out[start..]);
    if let std::borrow::Cow::Borrowed(text) = text {
        let end = start + text.trim_end().len();
        let spaces = text.len() - text.trim_start().len();
        out.truncate(end);
        out.drain(start..(start + spaces).min(end));
    } else {
        let bytes = out[start..].trim_ascii().to_vec();
        out.truncate(start);
        out.extend_from_slice(&bytes);
    }
}

/// Keeps the first `count` bytes or, if `count` is negative, the last ones.
fn trunc(out: &mut Vec<u8>, start: usize, count: i64) {
    let length = out.len() - start;
    let keep = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if keep >= length {
        return;
    }
    if count < 0 {
        out.drain(start..start + length - keep);
    } else {
        out.truncate(start + keep);
    }
}
