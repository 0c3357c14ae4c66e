//! A compiled expression: its type, its estimated cost, and the program that evaluates it.

use std::sync::Arc;

use crate::checker::Checked;
use crate::decl::DeclType;
use crate::estimate::{self, CostEstimate};
use crate::plan;
use crate::program::Program;
use crate::types::Type;

/// A type-checked expression.
#[derive(Debug)]
pub struct Compiled {
    checked: Checked,
    sizes: Option<Arc<DeclType>>,
}

impl Compiled {
    pub(crate) fn new(checked: Checked, sizes: Option<Arc<DeclType>>) -> Self {
        Self { checked, sizes }
    }

    /// The type of the result.
    pub fn output_type(&self) -> &Type {
        self.checked.type_of(&self.checked.root)
    }

    /// Whether the expression refers to a variable of the environment.
    pub fn uses(&self, variable: &str) -> bool {
        self.checked
            .variables
            .iter()
            .any(|name| &**name == variable)
    }

    /// The cost in the best and in the worst case.
    pub fn estimate_cost(&self) -> CostEstimate {
        grow(|| estimate::estimate(&self.checked, self.sizes.as_deref()))
    }

    /// Prepares the evaluation. Fails if a literal cannot be converted, or is no regular expression.
    pub fn program(&self) -> Result<Program, ProgramError> {
        grow(|| plan::plan(&self.checked)).map_err(ProgramError)
    }
}

/// Why an expression cannot be evaluated at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProgramError(String);

fn grow<T>(call: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(16 << 20, 32 << 20, call)
}
