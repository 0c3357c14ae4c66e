//! The abstract syntax tree. Macros are expanded while parsing.

use std::sync::Arc;

/// Identifies an expression; the index of its position, type and references.
pub(crate) type Id = usize;

#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// What could not be parsed; there is an issue for it.
    Unspecified,
    Literal(Literal),
    Ident(Arc<str>),
    Select(Box<Select>),
    Call(Box<Call>),
    List(List),
    Map(Vec<Entry>),
    Struct(Box<Struct>),
    Comprehension(Box<Comprehension>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// `operand.field`, or with `test_only` `has(operand.field)`.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    pub(crate) operand: Expr,
    pub(crate) field: Arc<str>,
    pub(crate) test_only: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) function: Arc<str>,
    pub(crate) target: Option<Expr>,
    pub(crate) args: Vec<Expr>,
}

#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) elements: Vec<Expr>,
    /// The indices of elements with a question mark.
    pub(crate) optionals: Vec<usize>,
}

/// An entry of a map.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// `TypeName{field: value}`
#[derive(Debug, Clone)]
pub(crate) struct Struct {
    pub(crate) type_name: Arc<str>,
    pub(crate) fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) id: Id,
    pub(crate) name: Arc<str>,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A fold over a list or map, which most macros expand to.
#[derive(Debug, Clone)]
pub(crate) struct Comprehension {
    pub(crate) range: Expr,
    pub(crate) variable: Arc<str>,
    pub(crate) variable2: Option<Arc<str>>,
    pub(crate) accumulator: Arc<str>,
    pub(crate) init: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

impl Expr {
    /// The literal string, if it is one.
    pub(crate) fn as_string(&self) -> Option<&Arc<str>> {
        match &self.kind {
            Kind::Literal(Literal::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The name of an identifier or of selections of one, such as `a.b.c`.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.trim_start_matches('.').to_owned()),
            Kind::Select(select) if !select.test_only => {
                let operand = select.operand.qualified_name()?;
                Some(format!("{operand}.{}", select.field))
            }
            _ => None,
        }
    }

    /// All direct subexpressions.
    pub(crate) fn children(&self) -> Vec<&Self> {
        match &self.kind {
            Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => Vec::new(),
            Kind::Select(select) => vec![&select.operand],
            Kind::Call(call) => call.target.iter().chain(&call.args).collect(),
            Kind::List(list) => list.elements.iter().collect(),
            Kind::Map(entries) => entries
                .iter()
                .flat_map(|entry| [&entry.key, &entry.value])
                .collect(),
            Kind::Struct(message) => message.fields.iter().map(|field| &field.value).collect(),
            Kind::Comprehension(fold) => vec![
                &fold.range,
                &fold.init,
                &fold.condition,
                &fold.step,
                &fold.result,
            ],
        }
    }
}
