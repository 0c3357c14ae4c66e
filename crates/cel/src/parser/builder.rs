//! Creates expressions and records where they are in the source.

use crate::ast::{
    Call, Comprehension, Entry, Expr, Field, Id, Kind, List, Literal, Select, Struct,
};

/// Macros copy their target, so that a short text may expand to a very large tree.
const MAX_EXPRESSIONS: usize = 150_000;

/// Creates expressions with new ids.
#[derive(Debug, Default)]
pub(super) struct Builder {
    /// The offset of each expression in the source.
    pub(super) offsets: Vec<usize>,
    /// How many operators are nested in each expression.
    depths: Vec<u32>,
}

/// A call with a given id.
pub(super) fn call(id: Id, function: &str, target: Option<Expr>, args: Vec<Expr>) -> Expr {
    let call = Call {
        function: function.into(),
        target,
        args,
    };
    Expr {
        id,
        kind: Kind::Call(Box::new(call)),
    }
}

impl Builder {
    pub(super) fn id(&mut self, offset: usize) -> Id {
        let id = self.offsets.len();
        self.offsets.push(offset);
        self.depths.push(0);
        id
    }

    pub(super) fn is_too_large(&self) -> bool {
        self.offsets.len() >= MAX_EXPRESSIONS
    }

    pub(super) fn offset(&self, id: Id) -> usize {
        self.offsets.get(id).copied().unwrap_or(0)
    }

    pub(super) fn set_depth(&mut self, id: Id, depth: u32) {
        if let Some(slot) = self.depths.get_mut(id) {
            *slot = depth;
        }
    }

    /// The maximum depth of some expressions.
    pub(super) fn depth(&self, expressions: &[Expr]) -> u32 {
        let depths = expressions.iter().filter_map(|e| self.depths.get(e.id));
        depths.max().copied().unwrap_or(0)
    }

    pub(super) fn expr_at(&mut self, offset: usize, kind: Kind) -> Expr {
        let id = self.id(offset);
        Expr { id, kind }
    }

    pub(super) fn string_at(&mut self, offset: usize, text: &str) -> Expr {
        self.expr_at(offset, Kind::Literal(Literal::String(text.into())))
    }

    pub(super) fn call_at(&mut self, offset: usize, function: &str, args: Vec<Expr>) -> Expr {
        let id = self.id(offset);
        call(id, function, None, args)
    }

    pub(super) fn literal_at(&mut self, offset: usize, literal: Literal) -> Expr {
        self.expr_at(offset, Kind::Literal(literal))
    }

    pub(super) fn ident_at(&mut self, offset: usize, name: &str) -> Expr {
        self.expr_at(offset, Kind::Ident(name.into()))
    }

    pub(super) fn list_at(&mut self, offset: usize, elements: Vec<Expr>) -> Expr {
        let list = List {
            elements,
            optionals: Vec::new(),
        };
        self.expr_at(offset, Kind::List(list))
    }

    /// The balanced tree of a chain of operators. `operators` are the ids of the calls.
    pub(super) fn balanced(
        &mut self,
        function: &'static str,
        terms: Vec<Expr>,
        operators: &[Id],
    ) -> Expr {
        let depth = self.depth(&terms);
        let mut terms = terms.into_iter();
        let expr = subtree(function, &mut terms, operators);
        if !operators.is_empty() {
            self.set_depth(expr.id, depth);
        }
        expr
    }

    /// A copy with new ids, at the same offsets.
    pub(super) fn copy(&mut self, expr: &Expr) -> Expr {
        if self.is_too_large() {
            return Expr {
                id: expr.id,
                kind: Kind::Unspecified,
            };
        }
        let mut copy = Expr {
            id: self.id(self.offset(expr.id)),
            kind: Kind::Unspecified,
        };
        self.set_depth(copy.id, self.depth(std::slice::from_ref(expr)));
        copy.kind = self.copy_kind(&expr.kind);
        copy
    }

    fn copy_all(&mut self, expressions: &[Expr]) -> Vec<Expr> {
        expressions.iter().map(|expr| self.copy(expr)).collect()
    }

    fn copy_kind(&mut self, kind: &Kind) -> Kind {
        match kind {
            Kind::Unspecified => Kind::Unspecified,
            Kind::Literal(literal) => Kind::Literal(literal.clone()),
            Kind::Ident(name) => Kind::Ident(name.clone()),
            Kind::Select(select) => Kind::Select(Box::new(Select {
                operand: self.copy(&select.operand),
                field: select.field.clone(),
                test_only: select.test_only,
            })),
            Kind::Call(call) => Kind::Call(Box::new(Call {
                function: call.function.clone(),
                target: call.target.as_ref().map(|target| self.copy(target)),
                args: self.copy_all(&call.args),
            })),
            Kind::List(list) => Kind::List(List {
                elements: self.copy_all(&list.elements),
                optionals: list.optionals.clone(),
            }),
            Kind::Map(entries) => {
                let entries = entries.iter().map(|entry| Entry {
                    key: self.copy(&entry.key),
                    value: self.copy(&entry.value),
                    optional: entry.optional,
                });
                Kind::Map(entries.collect())
            }
            Kind::Struct(message) => {
                let fields = message.fields.iter().map(|field| Field {
                    id: self.id(self.offset(field.id)),
                    name: field.name.clone(),
                    value: self.copy(&field.value),
                    optional: field.optional,
                });
                Kind::Struct(Box::new(Struct {
                    type_name: message.type_name.clone(),
                    fields: fields.collect(),
                }))
            }
            Kind::Comprehension(fold) => self.copy_comprehension(fold),
        }
    }

    fn copy_comprehension(&mut self, fold: &Comprehension) -> Kind {
        Kind::Comprehension(Box::new(Comprehension {
            range: self.copy(&fold.range),
            variable: fold.variable.clone(),
            variable2: fold.variable2.clone(),
            accumulator: fold.accumulator.clone(),
            init: self.copy(&fold.init),
            condition: self.copy(&fold.condition),
            step: self.copy(&fold.step),
            result: self.copy(&fold.result),
        }))
    }
}

fn subtree(
    function: &'static str,
    terms: &mut impl Iterator<Item = Expr>,
    operators: &[Id],
) -> Expr {
    let unspecified = Expr {
        id: 0,
        kind: Kind::Unspecified,
    };
    let middle = operators.len() / 2;
    let Some(id) = operators.get(middle) else {
        return terms.next().unwrap_or(unspecified);
    };
    let (before, after) = operators.split_at(middle);
    let left = subtree(function, terms, before);
    let right = subtree(function, terms, after.get(1..).unwrap_or_default());
    call(*id, function, None, vec![left, right])
}
