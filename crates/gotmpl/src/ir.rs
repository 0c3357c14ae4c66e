//! The parse tree of a template file: flat arrays of nodes that refer to each other and to the source by index.
//!
//! It is independent of execution, so that many executions on many threads can share it. Nodes have positions, so that
//! errors can contain the location and the node as Go prints them.

pub(crate) mod print;

use std::sync::Arc;

use crate::data::Data;
use crate::registry::FunctionId;

/// A range of an array, or of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self {
            start: index(start),
            end: index(end),
        }
    }

    #[inline]
    pub(crate) fn of<T>(self, array: &[T]) -> &[T] {
        array
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    #[inline]
    pub(crate) fn indexes(self) -> std::ops::Range<u32> {
        self.start..self.end
    }

    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// An index into one of the arrays. The parser rejects sources of 4 GiB and more, so that indexes fit.
#[expect(
    clippy::cast_possible_truncation,
    reason = "no array is longer than the source, which is shorter than 4 GiB"
)]
pub(crate) fn index(at: usize) -> u32 {
    at as u32
}

/// One template file.
#[derive(Debug)]
pub struct Parsed {
    name: Box<str>,
    pub(crate) tree: Arc<Tree>,
}

/// The parse tree, which files with different names can share.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) source: Data,
    /// The templates that the file defines, and the file itself.
    pub(crate) templates: Box<[Template]>,
    pub(crate) statements: Box<[Statement]>,
    pub(crate) pipes: Box<[Pipe]>,
    pub(crate) commands: Box<[Command]>,
    pub(crate) operands: Box<[Operand]>,
    pub(crate) variables: Box<[Variable]>,
    /// The names of fields and variables, one for each occurrence.
    pub(crate) names: Box<[Span]>,
    pub(crate) numbers: Box<[Number]>,
    pub(crate) literals: Box<[Literal]>,
}

#[derive(Debug)]
pub(crate) struct Template {
    /// The defined name; `None` for the file itself, whose name is in [`Parsed`].
    pub name: Option<Box<[u8]>>,
    pub body: Span,
    /// The maximum number of variables in scope, including `$`.
    pub slots: u32,
    /// It contains only white space, so it does not replace an earlier template of the same name.
    pub is_empty: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
    pub pos: u32,
    pub kind: StatementKind,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum StatementKind {
    Text(Span),
    Action {
        pipe: u32,
    },
    If(Branch),
    With(Branch),
    Range(Branch),
    /// `{{template NAME PIPE}}`; the name is a literal.
    Template {
        name: u32,
        pipe: Option<u32>,
    },
    Break,
    Continue,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Branch {
    pub pipe: u32,
    pub body: Span,
    pub otherwise: Span,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Pipe {
    pub pos: u32,
    pub commands: Span,
    /// Declared or assigned variables.
    pub variables: Span,
    pub assigns: bool,
    /// The first command writes text and the others transform it, so that no intermediate strings are needed.
    pub is_text_pipeline: bool,
}

/// A variable that a pipeline declares or assigns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable {
    pub name: Span,
    pub slot: Slot,
}

/// The index of a variable in the frame of its template; `None` if no declaration precedes the use.
pub(crate) type Slot = Option<u16>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub pos: u32,
    pub operands: Span,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub pos: u32,
    pub kind: OperandKind,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum OperandKind {
    Bool(bool),
    Number(u32),
    Literal(u32),
    Nil,
    Dot,
    Field {
        names: Span,
    },
    /// The first name is that of the variable, with its `$`.
    Variable {
        slot: Slot,
        names: Span,
    },
    Chain {
        inner: u32,
        names: Span,
    },
    Function(FunctionId),
    Pipe(u32),
}

/// A number constant, with its value in each Go type that can represent it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    pub text: Span,
    pub int: Option<i64>,
    pub float: Option<f64>,
}

/// A string constant.
#[derive(Debug)]
pub(crate) struct Literal {
    /// With its quotes.
    pub quoted: Span,
    pub text: LiteralText,
}

#[derive(Debug)]
pub(crate) enum LiteralText {
    /// A range of the source.
    Source(Span),
    /// With escapes resolved.
    Own(Box<[u8]>),
}

/// A node that an error can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Statement(u32),
    Pipe(u32),
    Command(u32),
    Operand(u32),
}

impl Parsed {
    /// The memory of the parse tree.
    pub fn memory_bytes(&self) -> usize {
        let tree = &*self.tree;
        tree.source.len()
            + size_of_val(&*tree.templates)
            + size_of_val(&*tree.statements)
            + size_of_val(&*tree.pipes)
            + size_of_val(&*tree.commands)
            + size_of_val(&*tree.operands)
            + size_of_val(&*tree.variables)
            + size_of_val(&*tree.names)
            + size_of_val(&*tree.numbers)
            + size_of_val(&*tree.literals)
    }

    pub(crate) fn new(name: Box<str>, tree: Tree) -> Self {
        Self {
            name,
            tree: Arc::new(tree),
        }
    }

    /// The name it was parsed under, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same file with another name. `None` if the file defines a template of that name.
    pub fn renamed(&self, name: &str) -> Option<Self> {
        let defines = |other: &str| {
            let other = Some(other.as_bytes());
            let mut templates = self.tree.templates.iter();
            templates.any(|template| template.name.as_deref() == other)
        };
        if defines(name) || self.tree.main().is_none() {
            return None;
        }
        Some(Self {
            name: name.into(),
            tree: Arc::clone(&self.tree),
        })
    }

    pub(crate) fn name_of<'p>(&'p self, template: &'p Template) -> &'p [u8] {
        template.name.as_deref().unwrap_or(self.name.as_bytes())
    }
}

impl Tree {
    /// The template of the file itself, unless the file defines a template of its own name.
    pub(crate) fn main(&self) -> Option<u32> {
        let is_main = |template: &Template| template.name.is_none();
        self.templates.iter().position(is_main).map(index)
    }

    #[inline]
    pub(crate) fn text(&self, span: Span) -> &[u8] {
        span.of(&self.source)
    }

    #[inline]
    pub(crate) fn literal(&self, id: u32) -> &[u8] {
        match self.literals.get(id as usize).map(|literal| &literal.text) {
            Some(LiteralText::Source(span)) => self.text(*span),
            Some(LiteralText::Own(text)) => text,
            None => &[],
        }
    }

    fn position(&self, node: Node) -> u32 {
        let pos = match node {
            Node::Statement(id) => self.statements.get(id as usize).map(|node| node.pos),
            Node::Pipe(id) => self.pipes.get(id as usize).map(|node| node.pos),
            Node::Command(id) => self.commands.get(id as usize).map(|node| node.pos),
            Node::Operand(id) => self.operands.get(id as usize).map(|node| node.pos),
        };
        pos.unwrap_or_default()
    }

    /// `LINE:COLUMN`; columns count bytes and start at 0.
    pub(crate) fn line_and_column(&self, node: Node) -> String {
        let pos = self.position(node) as usize;
        let before = self
            .source
            .get(..pos)
            .unwrap_or_else(|| self.source.as_slice());
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        format!("{line}:{}", before.len() - line_start)
    }
}
