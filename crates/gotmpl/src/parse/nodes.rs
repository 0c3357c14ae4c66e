//! The node arrays that the parser fills. The next parse on the same thread reuses them; the parse tree gets copies of
//! exact size.

use std::cell::RefCell;

use crate::data::Data;
use crate::ir::{
    Command, Literal, Number, Operand, Pipe, Span, Statement, Template, Tree, Variable,
};

#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub statements: Vec<Statement>,
    pub pipes: Vec<Pipe>,
    pub commands: Vec<Command>,
    pub operands: Vec<Operand>,
    pub variables: Vec<Variable>,
    pub names: Vec<Span>,
    pub numbers: Vec<Number>,
    pub literals: Vec<Literal>,
    // Nodes whose parent is not complete yet:
    pub open_statements: Vec<Statement>,
    pub open_commands: Vec<Command>,
    pub open_operands: Vec<Operand>,
    pub open_variables: Vec<Variable>,
}

thread_local! {
    static SPARE: RefCell<Nodes> = RefCell::default();
}

/// Larger arrays are not reused.
const MAX_SPARE: usize = 100_000;

impl Nodes {
    /// Empty arrays, reused if this thread has parsed before.
    pub(super) fn take() -> Self {
        SPARE.take()
    }

    /// Copies the nodes into a tree and keeps the arrays for the next parse.
    pub(super) fn finish(mut self, source: Data, templates: Vec<Template>) -> Tree {
        let tree = Tree {
            source,
            templates: templates.into(),
            statements: self.statements.as_slice().into(),
            pipes: self.pipes.as_slice().into(),
            commands: self.commands.as_slice().into(),
            operands: self.operands.as_slice().into(),
            variables: self.variables.as_slice().into(),
            names: self.names.as_slice().into(),
            numbers: self.numbers.as_slice().into(),
            literals: self.literals.drain(..).collect(),
        };
        if self.operands.capacity() <= MAX_SPARE {
            self.clear();
            SPARE.set(self);
        }
        tree
    }

    fn clear(&mut self) {
        self.statements.clear();
        self.pipes.clear();
        self.commands.clear();
        self.operands.clear();
        self.variables.clear();
        self.names.clear();
        self.numbers.clear();
        self.literals.clear();
        self.open_statements.clear();
        self.open_commands.clear();
        self.open_operands.clear();
        self.open_variables.clear();
    }
}
