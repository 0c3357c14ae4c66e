//! A parsed file with the caches of an engine.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::ir::{Parsed, Template, index};
use crate::value::{Str, Value};

/// Strings up to this length are stored inline, so that caching them is useless.
const SHORT: usize = 22;

#[derive(Debug)]
pub(crate) struct File {
    pub parsed: Arc<Parsed>,
    /// The values of long string constants, created on first use.
    literals: OnceCell<Box<[OnceCell<Str>]>>,
    /// For each field name in the file, the index at which a map contained it last.
    hints: Vec<Cell<u32>>,
}

impl File {
    pub(crate) fn new(parsed: Arc<Parsed>) -> Self {
        Self {
            literals: OnceCell::new(),
            hints: vec![Cell::new(0); parsed.tree.names.len()],
            parsed,
        }
    }

    /// The template of the file itself.
    pub(crate) fn main(&self) -> Option<u32> {
        let tree = &self.parsed.tree;
        let own = self.parsed.name().as_bytes();
        let is_own = |template: &Template| template.name.as_deref() == Some(own);
        let main = tree.templates.iter().position(is_own).map(index);
        main.or_else(|| tree.main())
    }

    #[inline]
    pub(crate) fn literal(&self, id: u32) -> Value {
        let text = self.parsed.tree.literal(id);
        if text.len() <= SHORT {
            return Value::str(text);
        }
        let literals = self.literals.get_or_init(|| {
            std::iter::repeat_with(OnceCell::new)
                .take(self.parsed.tree.literals.len())
                .collect()
        });
        match literals.get(id as usize) {
            Some(literal) => Value::Str(literal.get_or_init(|| text.into()).clone()),
            None => Value::str(text),
        }
    }

    #[inline]
    pub(crate) fn hint(&self, name: u32) -> Option<&Cell<u32>> {
        self.hints.get(name as usize)
    }
}
