//! The executor: walks the statements of a template, evaluates its pipelines, and prints.

mod append;
mod argument;
mod call;
mod evaluate;
mod field;
mod render;
mod text_pipeline;
mod values_type;
mod walk;

use std::collections::HashMap;
use std::rc::Rc;

use outrigger_gostd::strconv::quote_bytes;

use crate::engine::{Engine, File, Limits, Spent};
use crate::error::ExecError;
use crate::function::{Host, INTERRUPTED};
use crate::ir::{Node, Template, Tree, print};
use crate::stack_guard::StackGuard;
use crate::traversal::MAX_TEXT;
use crate::value::{Str, Value, memory};

pub(crate) use call::length_of;

type Result<T> = std::result::Result<T, ExecError>;

/// The interval, in steps, at which limits and the host's interrupt are checked.
const STEPS_BETWEEN_CHECKS: u64 = 4096;

/// `reflect.Value`
#[derive(Debug, Clone, Default)]
pub(crate) struct ReflectValue {
    pub value: Value,
    /// Its static type is `interface {}`: a map entry, a list item or a function result. This matters for errors and for
    /// nil: a field of a nil interface is an error, a field of an untyped nil is not.
    pub is_interface: bool,
}

impl ReflectValue {
    pub(crate) fn concrete(value: Value) -> Self {
        Self {
            value,
            is_interface: false,
        }
    }

    pub(crate) fn interface(value: Value) -> Self {
        Self {
            value,
            is_interface: true,
        }
    }

    /// The static type, for errors.
    fn type_name(&self) -> String {
        if self.is_interface {
            "interface {}".into()
        } else {
            self.value.type_name()
        }
    }
}

/// Buffers that the next execution on the same engine reuses.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    arguments: Vec<Value>,
    slots: Vec<ReflectValue>,
    open_includes: Vec<u32>,
    text: Vec<u8>,
}

/// `state` of text/template: one execution of a template and of all templates that it invokes.
#[derive(Debug)]
pub(crate) struct State<'e> {
    engine: &'e Engine,
    host: &'e dyn Host,
    /// The output so far. The output of `include` is at its end until it becomes a value, or stays there.
    out: Vec<u8>,
    /// The arguments of pending calls, innermost last.
    arguments: Vec<Value>,
    /// The variables of the invoked templates, innermost last.
    slots: Vec<ReflectValue>,
    /// The current recursion of `include` for each template of the engine.
    open_includes: Vec<u32>,
    /// The same for templates that `tpl` texts define.
    open_local_includes: HashMap<Str, u32>,
    /// The texts of the current `tpl` calls, innermost last. They may define templates.
    tpl_files: Vec<Rc<File>>,
    template_depth: u32,
    steps: u64,
    /// The output of earlier executions.
    earlier_output: usize,
    /// The length of `out` at the start.
    output_start: usize,
    guard: StackGuard,
    /// A buffer for text filters.
    text: Vec<u8>,
}

/// An invocation of a template.
#[derive(Debug)]
pub(crate) struct Frame<'f> {
    file: &'f File,
    template: &'f Template,
    /// The index of its first variable.
    slots: usize,
    /// The current node, for errors.
    at: Option<Node>,
}

impl<'f> Frame<'f> {
    fn tree(&self) -> &'f Tree {
        &self.file.parsed.tree
    }

    /// An error at the current node.
    #[cold]
    fn error(&self, message: impl Into<String>) -> ExecError {
        ExecError::at(self.error_prefix(), message)
    }

    /// `error calling NAME: ...` at the node of the call.
    #[cold]
    fn call_failed(&mut self, name: &str, node: Node, error: ExecError) -> ExecError {
        self.at = Some(node);
        let prefix = self.error_prefix();
        error.wrap(format!("{prefix}error calling {name}: "))
    }

    /// The location that Go puts before the message of an error.
    fn error_prefix(&self) -> String {
        let parsed = &self.file.parsed;
        let name = parsed.name_of(self.template);
        let Some(node) = self.at else {
            let name = String::from_utf8_lossy(name);
            return format!("template: {name}: ");
        };
        let (file, name) = (parsed.name(), quote_bytes(name));
        let location = self.tree().line_and_column(node);
        let node = print::print(self.tree(), node);
        format!("template: {file}:{location}: executing {name} at <{node}>: ")
    }
}

impl<'e> State<'e> {
    pub(crate) fn new(
        engine: &'e Engine,
        host: &'e dyn Host,
        out: Vec<u8>,
        mut scratch: Scratch,
        spent: Spent,
    ) -> Self {
        scratch.arguments.clear();
        scratch.slots.clear();
        scratch.open_includes.clear();
        scratch.open_includes.resize(engine.template_count(), 0);
        Self {
            engine,
            host,
            output_start: out.len(),
            out,
            arguments: scratch.arguments,
            slots: scratch.slots,
            open_includes: scratch.open_includes,
            open_local_includes: HashMap::new(),
            tpl_files: Vec::new(),
            template_depth: 0,
            steps: spent.steps,
            earlier_output: spent.output_bytes,
            guard: StackGuard::new(engine.limits.stack_bytes),
            text: scratch.text,
        }
    }

    /// What this and earlier executions spent of the limits.
    pub(crate) fn spent(&self) -> Spent {
        Spent {
            steps: self.steps,
            output_bytes: self.output_bytes(),
        }
    }

    pub(crate) fn finish(self) -> (Vec<u8>, Scratch) {
        let scratch = Scratch {
            arguments: self.arguments,
            slots: self.slots,
            open_includes: self.open_includes,
            text: self.text,
        };
        (self.out, scratch)
    }

    fn limits(&self) -> &'e Limits {
        &self.engine.limits
    }

    /// Counts a statement or call.
    #[inline]
    fn step(&mut self, frame: &Frame<'_>) -> Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_BETWEEN_CHECKS) {
            self.check_limits(frame)?;
        }
        Ok(())
    }

    fn check_limits(&self, frame: &Frame<'_>) -> Result<()> {
        if self.steps > self.limits().steps {
            let steps = self.limits().steps;
            return Err(frame.error(format!("exceeded maximum of {steps} steps")));
        }
        if self.host.interrupted() {
            return Err(frame.error(INTERRUPTED));
        }
        self.check_output(frame)
    }

    #[inline]
    fn check_output(&self, frame: &Frame<'_>) -> Result<()> {
        if self.output_bytes() > self.limits().output_bytes {
            memory::set_limit_reached();
            let bytes = self.limits().output_bytes;
            return Err(frame.error(format!("exceeded maximum output of {bytes} bytes")));
        }
        Ok(())
    }

    fn output_bytes(&self) -> usize {
        self.earlier_output + self.out.len().saturating_sub(self.output_start)
    }

    /// Fails if the stack is exhausted.
    #[inline]
    fn check_depth(&self, frame: &Frame<'_>) -> Result<()> {
        if self.guard.is_exhausted() {
            let depth = self.template_depth;
            return Err(frame.error(format!("exceeded maximum template depth ({depth})")));
        }
        Ok(())
    }

    /// Fails if a value, or all values together, are too large.
    #[inline]
    fn check_size(&self, frame: &Frame<'_>, value: &Value) -> Result<()> {
        let size = match value {
            Value::Str(text) => text.len(),
            Value::List(list) => size_of_val(list.items()),
            _ => 0,
        };
        if size > self.limits().value_bytes.min(MAX_TEXT) {
            return Err(self.value_too_large(frame));
        }
        self.check_memory(frame, 0)
    }

    #[cold]
    fn value_too_large(&self, frame: &Frame<'_>) -> ExecError {
        let bytes = self.limits().value_bytes.min(MAX_TEXT);
        frame.error(format!("exceeded maximum size of a value ({bytes} bytes)"))
    }

    /// Fails unless `more` bytes may be allocated.
    #[inline]
    fn check_memory(&self, frame: &Frame<'_>, more: usize) -> Result<()> {
        if !memory::fits(more, self.limits().memory_bytes) {
            return Err(frame.error(out_of_memory(self.limits().memory_bytes)));
        }
        Ok(())
    }
}

/// The error for values that need more memory than the limit.
#[cold]
pub(crate) fn out_of_memory(limit: usize) -> String {
    format!("exceeded maximum memory of values ({limit} bytes)")
}
