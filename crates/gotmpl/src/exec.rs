//! Runs a template: walks its statements, evaluates its pipelines, prints.

mod argument;
mod call;
mod evaluate;
mod field;
mod render;
mod text_chain;
mod values_type;
mod walk;

use std::collections::HashMap;
use std::rc::Rc;

use outrigger_gostd::strconv::quote_bytes;

use crate::engine::{Engine, File, Limits};
use crate::error::ExecError;
use crate::function::Host;
use crate::ir::{Node, Template, Tree, print};
use crate::stack_guard::StackGuard;
use crate::value::{Str, Value};
use crate::walk::MAX_TEXT;

pub(crate) use call::length_of;

type Result<T> = std::result::Result<T, ExecError>;

/// How often the host is asked whether to go on.
const STEPS_BETWEEN_QUESTIONS: u64 = 4096;

/// Values from this size on count against [`Limits::total_bytes`].
const LARGE_VALUE: usize = 64 * 1024;

/// A value as Go's reflection sees it in a template.
#[derive(Debug, Clone, Default)]
pub(crate) struct Got {
    pub value: Value,
    /// It came out of a variable of type `interface {}`: a map entry, a list item, a function result. Only errors and
    /// nil values tell the difference: a nil from a map is an error to look into, a nil without type is not.
    pub is_interface: bool,
}

impl Got {
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

    /// The type that an error names.
    fn type_name(&self) -> String {
        if self.is_interface {
            "interface {}".into()
        } else {
            self.value.type_name()
        }
    }
}

/// Memory that the next run on the same engine can use again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    arguments: Vec<Value>,
    slots: Vec<Got>,
    open_includes: Vec<u32>,
    text: Vec<u8>,
}

/// One execution of a template with everything it calls.
#[derive(Debug)]
pub(crate) struct Run<'e> {
    engine: &'e Engine,
    host: &'e dyn Host,
    /// The text printed so far. What `include` prints stands at its end until it becomes a value or stays.
    out: Vec<u8>,
    /// Arguments of the calls being prepared, innermost last.
    arguments: Vec<Value>,
    /// Variables of the running templates, innermost last.
    slots: Vec<Got>,
    /// How often each template of the engine is open through `include`.
    open_includes: Vec<u32>,
    /// The same for templates that a `tpl` text defines.
    open_local_includes: HashMap<Str, u32>,
    /// The texts of the `tpl` calls being run, innermost last. They may define templates.
    tpl_files: Vec<Rc<File>>,
    template_depth: u32,
    steps: u64,
    large_bytes: usize,
    guard: StackGuard,
    /// For text filters.
    text: Vec<u8>,
}

/// A template being run.
#[derive(Debug)]
pub(crate) struct Frame<'f> {
    file: &'f File,
    template: &'f Template,
    /// Where its variables begin.
    slots: usize,
    /// The node that an error is about.
    at: Option<Node>,
}

impl<'f> Frame<'f> {
    fn tree(&self) -> &'f Tree {
        &self.file.parsed.tree
    }

    /// An error about the current node.
    #[cold]
    fn error(&self, message: impl Into<String>) -> ExecError {
        ExecError::at(self.place(), message)
    }

    /// `error calling NAME: ...`, about the whole call.
    #[cold]
    fn call_failed(&mut self, name: &str, node: Node, error: ExecError) -> ExecError {
        self.at = Some(node);
        let place = self.place();
        error.wrap(format!("{place}error calling {name}: "))
    }

    /// All that Go puts before the message of an error in a template.
    fn place(&self) -> String {
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

impl<'e> Run<'e> {
    pub(crate) fn new(
        engine: &'e Engine,
        host: &'e dyn Host,
        out: Vec<u8>,
        mut scratch: Scratch,
    ) -> Self {
        scratch.arguments.clear();
        scratch.slots.clear();
        scratch.open_includes.clear();
        scratch.open_includes.resize(engine.template_count(), 0);
        Self {
            engine,
            host,
            out,
            arguments: scratch.arguments,
            slots: scratch.slots,
            open_includes: scratch.open_includes,
            open_local_includes: HashMap::new(),
            tpl_files: Vec::new(),
            template_depth: 0,
            steps: 0,
            large_bytes: 0,
            guard: StackGuard::new(engine.limits.stack_bytes),
            text: scratch.text,
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
        if self.steps.is_multiple_of(STEPS_BETWEEN_QUESTIONS) {
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
            return Err(frame.error("interrupted"));
        }
        self.check_output(frame)
    }

    #[inline]
    fn check_output(&self, frame: &Frame<'_>) -> Result<()> {
        if self.out.len() > self.limits().output_bytes {
            let bytes = self.limits().output_bytes;
            return Err(frame.error(format!("exceeded maximum output of {bytes} bytes")));
        }
        Ok(())
    }

    /// Refuses to go deeper when the stack is used up.
    #[inline]
    fn check_depth(&self, frame: &Frame<'_>) -> Result<()> {
        if self.guard.is_exhausted() {
            let depth = self.template_depth;
            return Err(frame.error(format!("exceeded maximum template depth ({depth})")));
        }
        Ok(())
    }

    /// Refuses values that grow without end.
    #[inline]
    fn check_size(&mut self, frame: &Frame<'_>, value: &Value) -> Result<()> {
        let size = match value {
            Value::Str(text) => text.len(),
            Value::List(list) => size_of_val(list.items()),
            _ => return Ok(()),
        };
        if size < LARGE_VALUE {
            return Ok(());
        }
        self.large_bytes = self.large_bytes.saturating_add(size);
        if size > self.limits().value_bytes.min(MAX_TEXT)
            || self.large_bytes > self.limits().total_bytes
        {
            return Err(frame.error("exceeded maximum size of values"));
        }
        Ok(())
    }
}
