//! A set of associated templates, and their execution.

mod file;
mod limits;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::ExecError;
use crate::exec::{Scratch, State};
use crate::function::{Dialect, Host};
use crate::ir::{Parsed, index};
use crate::parse::{ParseError, parse};
use crate::value::{Str, Value};

pub(crate) use file::File;
pub use limits::Limits;

/// The name of the template that `tpl` parses, as in Helm.
pub(crate) const TPL_NAME: &str = "gotpl";

/// The limit on the memory of cached `tpl` texts.
const TPL_CACHE_BYTES: usize = 64 << 20;

/// The stack of functions, which traverse values recursively.
const FUNCTION_STACK: usize = 16 << 20;

/// Calls a function with the stack that templates may use. Executions inside of it need no stack of their own.
pub fn on_stack<T>(limits: &Limits, call: impl FnOnce() -> T) -> T {
    let needed = limits.stack_bytes + FUNCTION_STACK;
    stacker::maybe_grow(needed, needed + FUNCTION_STACK, call)
}

/// A set of associated templates, as text/template calls them. It renders one chart on one thread; other engines can
/// share its parsed files.
#[derive(Debug)]
pub struct Engine {
    pub(crate) dialect: Dialect,
    pub(crate) limits: Limits,
    /// A missing map key is an error.
    pub(crate) strict: bool,
    /// `required` and `fail` do not fail.
    pub(crate) lint: bool,
    files: Vec<File>,
    templates: Vec<TemplateRef>,
    by_name: HashMap<Box<[u8]>, u32>,
    tpl_cache: RefCell<TplCache>,
    scratch: RefCell<Scratch>,
    spent: Cell<Spent>,
}

/// What earlier executions spent of the limits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) steps: u64,
    pub(crate) output_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct TemplateRef {
    file: u32,
    template: u32,
}

#[derive(Debug, Default)]
struct TplCache {
    files: HashMap<Str, Rc<File>>,
    bytes: usize,
}

impl Engine {
    pub fn new(dialect: Dialect, limits: Limits) -> Self {
        Self {
            dialect,
            limits,
            strict: false,
            lint: false,
            files: Vec::new(),
            templates: Vec::new(),
            by_name: HashMap::new(),
            tpl_cache: RefCell::default(),
            scratch: RefCell::default(),
            spent: Cell::default(),
        }
    }

    /// Whether a missing map key is an error, as with `helm lint --strict`.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Lint mode, as in `helm lint`: `required` and `fail` do not fail, and `lookup` finds nothing.
    #[must_use]
    pub fn lint(mut self, lint: bool) -> Self {
        self.lint = lint;
        self
    }

    /// Adds a file and the templates that it defines. A definition replaces an earlier one of the same name, unless its
    /// body is empty.
    pub fn add(&mut self, parsed: Arc<Parsed>) {
        let file = index(self.files.len());
        for (i, template) in parsed.tree.templates.iter().enumerate() {
            let new = TemplateRef {
                file,
                template: index(i),
            };
            let name = parsed.name_of(template);
            if let Some(id) = self.by_name.get(name) {
                if !template.is_empty {
                    self.templates[*id as usize] = new;
                }
            } else {
                let id = index(self.templates.len());
                self.by_name.insert(name.into(), id);
                self.templates.push(new);
            }
        }
        self.files.push(File::new(parsed));
    }

    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name.as_bytes())
    }

    /// `Template.ExecuteTemplate`: appends the output to `out`.
    pub fn execute(
        &self,
        name: &str,
        data: &Value,
        host: &dyn Host,
        out: &mut Vec<u8>,
    ) -> Result<(), ExecError> {
        on_stack(&self.limits, || {
            let scratch = self.scratch.take();
            let mut state = State::new(self, host, std::mem::take(out), scratch, self.spent.get());
            let result = state.execute(name.as_bytes(), data);
            self.spent.set(state.spent());
            let scratch;
            (*out, scratch) = state.finish();
            self.scratch.replace(scratch);
            result
        })
    }

    /// [`Self::execute`] without the `<no value>` that Go prints for missing values, as Helm does.
    pub fn render(
        &self,
        name: &str,
        data: &Value,
        host: &dyn Host,
        out: &mut Vec<u8>,
    ) -> Result<(), ExecError> {
        let start = out.len();
        self.execute(name, data, host, out)?;
        crate::rendering::remove_no_value(out, start);
        Ok(())
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn template_count(&self) -> usize {
        self.templates.len()
    }

    pub(crate) fn template(&self, id: u32) -> Option<(&File, u32)> {
        let found = self.templates.get(id as usize)?;
        Some((self.files.get(found.file as usize)?, found.template))
    }

    /// The parsed text of a `tpl` call, from the cache if possible.
    pub(crate) fn tpl_file(&self, text: &Str) -> Result<Rc<File>, ParseError> {
        let mut cache = self.tpl_cache.borrow_mut();
        if let Some(file) = cache.files.get(text) {
            return Ok(Rc::clone(file));
        }
        let parsed = parse(TPL_NAME, text.as_bytes(), &self.dialect)?;
        let bytes = parsed.memory_bytes();
        let file = Rc::new(File::new(parsed));
        cache.bytes += bytes;
        if cache.bytes > TPL_CACHE_BYTES {
            *cache = TplCache {
                bytes,
                ..TplCache::default()
            };
        }
        cache.files.insert(text.clone(), Rc::clone(&file));
        Ok(file)
    }
}
