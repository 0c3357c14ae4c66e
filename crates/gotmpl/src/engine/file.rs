//! A parsed file with what a run remembers about it.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::ir::Parsed;
use crate::value::{Str, Value};

/// Literals up to this length are cheap to make each time.
const SHORT: usize = 22;

#[derive(Debug)]
pub(crate) struct File {
    pub parsed: Arc<Parsed>,
    /// The values of long string constants.
    literals: Vec<OnceCell<Str>>,
    /// For each field name in the file: where in a map it was found last.
    hints: Vec<Cell<u32>>,
}

impl File {
    pub(crate) fn new(parsed: Arc<Parsed>) -> Self {
        Self {
            literals: vec![OnceCell::new(); parsed.literals.len()],
            hints: vec![Cell::new(0); parsed.names.len()],
            parsed,
        }
    }

    #[inline]
    pub(crate) fn literal(&self, id: u32) -> Value {
        let text = self.parsed.literal(id);
        if text.len() > SHORT
            && let Some(literal) = self.literals.get(id as usize)
        {
            return Value::Str(literal.get_or_init(|| text.into()).clone());
        }
        Value::str(text)
    }

    /// The place for the hint of a name.
    #[inline]
    pub(crate) fn hint(&self, name: u32) -> Option<&Cell<u32>> {
        self.hints.get(name as usize)
    }
}
