//! Expands macros: `has`, the comprehensions with one and two variables, `optMap`, `optFlatMap` and `sortBy`.

use std::sync::Arc;

use super::builder::{Builder, call};
use crate::ast::{Comprehension, Expr, Id, Kind, Literal, Select};

/// The name of accumulators. It is no identifier, so that expressions cannot refer to it.
const ACCUMULATOR: &str = "@result";
/// The former name, which cannot be used as a variable.
const FORMER_ACCUMULATOR: &str = "__result__";

/// Why a macro cannot be expanded.
pub(super) struct Error {
    pub(super) offset: usize,
    pub(super) message: String,
}

type Result<T> = std::result::Result<T, Error>;

/// Expands a call of a macro. Other calls are returned as they are.
pub(super) fn expand(
    builder: &mut Builder,
    id: Id,
    function: &str,
    target: Option<Expr>,
    args: Vec<Expr>,
) -> Result<Expr> {
    let offset = builder.offset(id);
    let mut expander = Expander { builder, offset };
    let Some(target) = target else {
        return match (function, args.as_slice()) {
            ("has", [_]) => expander.has(args),
            _ => Ok(call(id, function, None, args)),
        };
    };
    match (function, args.len()) {
        ("all" | "exists" | "exists_one", 2) => expander.quantifier(function, target, args, None),
        ("map", 2 | 3) | ("filter", 2) => expander.map(function, target, args),
        ("all" | "exists" | "exists_one" | "existsOne", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => {
            expander.two_variables(function, target, args)
        }
        ("optMap" | "optFlatMap", 2) => expander.optional_map(function, target, args),
        ("sortBy", 2) => expander.sort_by(target, args),
        _ => Ok(call(id, function, Some(target), args)),
    }
}

struct Expander<'b> {
    builder: &'b mut Builder,
    /// Where the macro is called.
    offset: usize,
}

/// The parts of a comprehension that differ between macros.
struct Fold {
    variable: Arc<str>,
    variable2: Option<Arc<str>>,
    init: Expr,
    condition: Expr,
    step: Expr,
    result: Expr,
}

impl Expander<'_> {
    fn error<T>(&self, expr: &Expr, message: impl Into<String>) -> Result<T> {
        Err(Error {
            offset: self.builder.offset(expr.id),
            message: message.into(),
        })
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.builder.literal_at(self.offset, literal)
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.builder.call_at(self.offset, function, args)
    }

    fn member_call(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let id = self.builder.id(self.offset);
        call(id, function, Some(target), args)
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.builder.ident_at(self.offset, name)
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.builder.list_at(self.offset, elements)
    }

    fn fold(&mut self, range: Expr, fold: Fold) -> Expr {
        self.comprehension(range, ACCUMULATOR, fold)
    }

    fn comprehension(&mut self, range: Expr, accumulator: &str, fold: Fold) -> Expr {
        let comprehension = Comprehension {
            range,
            variable: fold.variable,
            variable2: fold.variable2,
            accumulator: accumulator.into(),
            init: fold.init,
            condition: fold.condition,
            step: fold.step,
            result: fold.result,
        };
        let kind = Kind::Comprehension(Box::new(comprehension));
        self.builder.expr_at(self.offset, kind)
    }

    fn has(&mut self, args: Vec<Expr>) -> Result<Expr> {
        let [argument] = <[Expr; 1]>::try_from(args).unwrap_or_else(|_| [self.accumulator()]);
        match argument.kind {
            Kind::Select(select) => {
                let select = Select {
                    test_only: true,
                    ..*select
                };
                let kind = Kind::Select(Box::new(select));
                Ok(self.builder.expr_at(self.offset, kind))
            }
            _ => self.error(&argument, "invalid argument to has() macro"),
        }
    }

    fn variable(&self, expr: &Expr, message: &str) -> Result<Arc<str>> {
        let Kind::Ident(name) = &expr.kind else {
            return self.error(expr, message);
        };
        if &**name == ACCUMULATOR || &**name == FORMER_ACCUMULATOR {
            return self.error(expr, "iteration variable overwrites accumulator variable");
        }
        Ok(name.clone())
    }

    /// `all`, `exists` and `exists_one`; with a second variable the first argument is already taken.
    fn quantifier(
        &mut self,
        function: &str,
        target: Expr,
        mut args: Vec<Expr>,
        first: Option<Arc<str>>,
    ) -> Result<Expr> {
        let Some(predicate) = args.pop() else {
            return self.error(&target, "missing argument");
        };
        let name = match args.last() {
            Some(expr) => self.variable(expr, "argument must be a simple name")?,
            None => return self.error(&target, "missing argument"),
        };
        let (variable, variable2) = match first {
            Some(first) => (first, Some(name)),
            None => (name, None),
        };
        let (init, condition, step, result);
        match function {
            "all" => {
                init = self.literal(Literal::Bool(true));
                let accumulator = self.accumulator();
                condition = self.call("@not_strictly_false", vec![accumulator]);
                let accumulator = self.accumulator();
                step = self.call("_&&_", vec![accumulator, predicate]);
                result = self.accumulator();
            }
            "exists" => {
                init = self.literal(Literal::Bool(false));
                let accumulator = self.accumulator();
                let negated = self.call("!_", vec![accumulator]);
                condition = self.call("@not_strictly_false", vec![negated]);
                let accumulator = self.accumulator();
                step = self.call("_||_", vec![accumulator, predicate]);
                result = self.accumulator();
            }
            _ => {
                init = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let (accumulator, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let incremented = self.call("_+_", vec![accumulator, one]);
                let accumulator = self.accumulator();
                step = self.call("_?_:_", vec![predicate, incremented, accumulator]);
                let (accumulator, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                result = self.call("_==_", vec![accumulator, one]);
            }
        }
        let fold = Fold {
            variable,
            variable2,
            init,
            condition,
            step,
            result,
        };
        Ok(self.fold(target, fold))
    }

    /// `map` and `filter`
    fn map(&mut self, function: &str, target: Expr, mut args: Vec<Expr>) -> Result<Expr> {
        let Some(last) = args.pop() else {
            return self.error(&target, "missing argument");
        };
        let filter = if args.len() > 1 { args.pop() } else { None };
        let Some(first) = args.pop() else {
            return self.error(&target, "missing argument");
        };
        let variable = self.variable(&first, "argument is not an identifier")?;
        let (filter, element) = if function == "filter" {
            (Some(last), first)
        } else {
            (filter, last)
        };
        let init = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let step = self.append(element, filter);
        let result = self.accumulator();
        let fold = Fold {
            variable,
            variable2: None,
            init,
            condition,
            step,
            result,
        };
        Ok(self.fold(target, fold))
    }

    /// Appends an element to the accumulator, if the filter is true.
    fn append(&mut self, element: Expr, filter: Option<Expr>) -> Expr {
        let accumulator = self.accumulator();
        let list = self.list(vec![element]);
        let step = self.call("_+_", vec![accumulator, list]);
        self.filtered(step, filter)
    }

    fn filtered(&mut self, step: Expr, filter: Option<Expr>) -> Expr {
        match filter {
            Some(filter) => {
                let accumulator = self.accumulator();
                self.call("_?_:_", vec![filter, step, accumulator])
            }
            None => step,
        }
    }

    fn two_variables(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Result<Expr> {
        let [first, second, ..] = args.as_slice() else {
            return self.error(&target, "missing argument");
        };
        let name = |expr: &Expr| match &expr.kind {
            Kind::Ident(name) => Some(name.clone()),
            _ => None,
        };
        let message = "argument must be a simple name";
        let (Some(one), Some(two)) = (name(first), name(second)) else {
            let wrong = if name(first).is_none() { first } else { second };
            return self.error(wrong, message);
        };
        if one == two {
            return self.error(second, format!("duplicate variable name: {one}"));
        }
        self.variable(first, message)?;
        self.variable(second, message)?;
        let mut rest = args;
        if matches!(function, "all" | "exists" | "exists_one" | "existsOne") {
            rest.remove(0);
            return self.quantifier(function, target, rest, Some(one));
        }
        let Some(transform) = rest.pop() else {
            return self.error(&target, "missing argument");
        };
        let filter = if rest.len() > 2 { rest.pop() } else { None };
        let fold = self.transform(function, (one, two), transform, filter);
        Ok(self.fold(target, fold))
    }

    fn transform(
        &mut self,
        function: &str,
        (variable, variable2): (Arc<str>, Arc<str>),
        transform: Expr,
        filter: Option<Expr>,
    ) -> Fold {
        let (init, step);
        if function == "transformList" {
            step = self.append(transform, filter);
            init = self.list(Vec::new());
        } else {
            let accumulator = self.accumulator();
            let args = if function == "transformMap" {
                let key = self.ident(&variable);
                vec![accumulator, key, transform]
            } else {
                vec![accumulator, transform]
            };
            let inserted = self.call("cel.@mapInsert", args);
            step = self.filtered(inserted, filter);
            init = self.builder.expr_at(self.offset, Kind::Map(Vec::new()));
        }
        Fold {
            variable,
            variable2: Some(variable2),
            init,
            condition: self.literal(Literal::Bool(true)),
            step,
            result: self.accumulator(),
        }
    }

    fn optional_map(&mut self, function: &str, target: Expr, mut args: Vec<Expr>) -> Result<Expr> {
        let (Some(body), Some(variable)) = (args.pop(), args.pop()) else {
            return self.error(&target, "missing argument");
        };
        let Kind::Ident(name) = &variable.kind else {
            let message = format!("{function}() variable name must be a simple identifier");
            return self.error(&variable, message);
        };
        let copy = self.builder.copy(&target);
        let has_value = self.member_call("hasValue", target, Vec::new());
        let value = self.member_call("value", copy, Vec::new());
        let bound = self.bind(name, value, body);
        let mapped = if function == "optMap" {
            self.call("optional.of", vec![bound])
        } else {
            bound
        };
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![has_value, mapped, none]))
    }

    /// Evaluates `body` with a variable, as a comprehension over nothing.
    fn bind(&mut self, name: &str, value: Expr, body: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(name);
        let fold = Fold {
            variable: "#unused".into(),
            variable2: None,
            init: value,
            condition,
            step,
            result: body,
        };
        self.comprehension(range, name, fold)
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Result<Expr> {
        const INPUT: &str = "@__sortBy_input__";
        let is_sortable = matches!(
            target.kind,
            Kind::List(_)
                | Kind::Select(_)
                | Kind::Ident(_)
                | Kind::Comprehension(_)
                | Kind::Call(_)
        );
        if !is_sortable {
            let message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return self.error(&target, message);
        }
        let input = self.ident(INPUT);
        let keys = self.map("map", input, args)?;
        let input = self.ident(INPUT);
        let sorted = self.member_call("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.bind(INPUT, target, sorted))
    }
}
