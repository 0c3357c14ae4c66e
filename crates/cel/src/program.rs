//! Evaluates expressions.

use crate::error::Error;
use crate::evaluate::{Frame, Slot, evaluate};
use crate::meter::Meter;
use crate::plan::Node;
use crate::value::Value;

/// Deeper programs are evaluated on a stack of their own.
const MAX_DEPTH: usize = 64;

/// An expression that can be evaluated, on any thread and any number of times.
#[derive(Debug)]
pub struct Program {
    pub(crate) root: Node,
    /// How many variables of comprehensions are in scope at most.
    pub(crate) slots: usize,
    /// How deep the nodes are nested.
    pub(crate) depth: usize,
}

/// The values of the variables.
#[derive(Debug, Clone, Default)]
pub struct Activation<'v> {
    variables: Vec<(&'v str, Value<'v>)>,
}

impl<'v> Activation<'v> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable.
    #[must_use]
    pub fn variable(mut self, name: &'v str, value: Value<'v>) -> Self {
        self.variables.push((name, value));
        self
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Value<'v>> {
        let found = self
            .variables
            .iter()
            .find(|(variable, _)| *variable == name);
        found.map(|(_, value)| value)
    }
}

/// What an evaluation may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub cost: u64,
}

impl Limits {
    /// The limit of Kubernetes for one evaluation.
    pub const PER_CALL: Self = Self { cost: 1_000_000 };
}

/// The result of an evaluation, and what it cost.
#[derive(Debug)]
pub struct Evaluation<'v> {
    pub result: Result<Value<'v>, Error>,
    pub cost: u64,
}

impl Program {
    /// Evaluates the program. Takes milliseconds at most.
    pub fn evaluate<'v>(&self, activation: &Activation<'v>, limits: Limits) -> Evaluation<'v> {
        let mut frame = Frame {
            activation,
            meter: Meter::new(limits.cost),
            slots: Vec::new(),
        };
        frame
            .slots
            .resize_with(self.slots, || Slot::Ready(Ok(Value::Null)));
        let result = if self.depth > MAX_DEPTH {
            stacker::maybe_grow(16 << 20, 32 << 20, || evaluate(&self.root, &mut frame))
        } else {
            evaluate(&self.root, &mut frame)
        };
        Evaluation {
            result,
            cost: frame.meter.cost(),
        }
    }
}
