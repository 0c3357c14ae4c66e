//! `Node.String`: the form of a node in error messages.

use outrigger_gostd::strconv::quote_bytes;

use super::{Node, OperandKind, Span, StatementKind, Tree};

/// The maximum depth of printed parentheses, which limits the use of stack.
const MAX_DEPTH: u32 = 200;

pub(crate) fn print(tree: &Tree, node: Node) -> String {
    let mut printer = Printer {
        tree,
        out: Vec::new(),
        depth: 0,
    };
    match node {
        Node::Statement(id) => printer.statement(id),
        Node::Pipe(id) => printer.pipe(id),
        Node::Command(id) => printer.command(id),
        Node::Operand(id) => printer.operand(id),
    }
    String::from_utf8_lossy(&printer.out).into_owned()
}

struct Printer<'a> {
    tree: &'a Tree,
    out: Vec<u8>,
    depth: u32,
}

impl Printer<'_> {
    /// Prints control structures without their bodies, since no error refers to a whole one.
    fn statement(&mut self, id: u32) {
        let Some(statement) = self.tree.statements.get(id as usize) else {
            return;
        };
        match statement.kind {
            StatementKind::Text(span) => self.source(span),
            StatementKind::Action { pipe } => self.action("", pipe),
            StatementKind::If(branch) => self.action("if ", branch.pipe),
            StatementKind::With(branch) => self.action("with ", branch.pipe),
            StatementKind::Range(branch) => self.action("range ", branch.pipe),
            StatementKind::Template { name, pipe } => {
                self.text("{{template ");
                self.text(&quote_bytes(self.tree.literal(name)));
                if let Some(pipe) = pipe {
                    self.text(" ");
                    self.pipe(pipe);
                }
                self.text("}}");
            }
            StatementKind::Break => self.text("{{break}}"),
            StatementKind::Continue => self.text("{{continue}}"),
        }
    }

    fn action(&mut self, keyword: &str, pipe: u32) {
        self.text("{{");
        self.text(keyword);
        self.pipe(pipe);
        self.text("}}");
    }

    fn pipe(&mut self, id: u32) {
        let tree = self.tree;
        let Some(pipe) = tree.pipes.get(id as usize) else {
            return;
        };
        for (i, variable) in pipe.variables.of(&tree.variables).iter().enumerate() {
            self.text(if i > 0 { ", " } else { "" });
            self.source(variable.name);
        }
        if !pipe.variables.is_empty() {
            self.text(if pipe.assigns { " = " } else { " := " });
        }
        for (i, command) in pipe.commands.indexes().enumerate() {
            self.text(if i > 0 { " | " } else { "" });
            self.command(command);
        }
    }

    fn command(&mut self, id: u32) {
        let Some(command) = self.tree.commands.get(id as usize) else {
            return;
        };
        for (i, operand) in command.operands.indexes().enumerate() {
            self.text(if i > 0 { " " } else { "" });
            self.operand_in_parentheses(operand);
        }
    }

    fn operand_in_parentheses(&mut self, id: u32) {
        let kind = self.tree.operands.get(id as usize).map(|node| node.kind);
        let is_pipe = matches!(kind, Some(OperandKind::Pipe(_)));
        self.text(if is_pipe { "(" } else { "" });
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            self.operand(id);
            self.depth -= 1;
        }
        self.text(if is_pipe { ")" } else { "" });
    }

    fn operand(&mut self, id: u32) {
        let tree = self.tree;
        let Some(operand) = tree.operands.get(id as usize) else {
            return;
        };
        match operand.kind {
            OperandKind::Bool(value) => self.text(if value { "true" } else { "false" }),
            OperandKind::Number(id) => {
                if let Some(number) = tree.numbers.get(id as usize) {
                    self.source(number.text);
                }
            }
            OperandKind::Literal(id) => {
                if let Some(literal) = tree.literals.get(id as usize) {
                    self.source(literal.quoted);
                }
            }
            OperandKind::Nil => self.text("nil"),
            OperandKind::Dot => self.text("."),
            OperandKind::Field { names } => self.fields(names),
            OperandKind::Variable { names, .. } => {
                let mut names = names;
                if let Some(name) = names.of(&tree.names).first() {
                    self.source(*name);
                    names.start += 1;
                }
                self.fields(names);
            }
            OperandKind::Chain { inner, names } => {
                self.operand_in_parentheses(inner);
                self.fields(names);
            }
            OperandKind::Function(id) => self.text(id.function().name),
            OperandKind::Pipe(id) => self.pipe(id),
        }
    }

    fn fields(&mut self, names: Span) {
        for name in names.of(&self.tree.names) {
            self.text(".");
            self.source(*name);
        }
    }

    fn source(&mut self, span: Span) {
        self.out.extend_from_slice(self.tree.text(span));
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}
