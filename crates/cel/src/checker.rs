//! Type-checks expressions and resolves the overloads of calls.

mod unify;
mod validators;

use std::sync::Arc;

use crate::ast::{Call, Comprehension, Entry, Expr, Id, Kind, List, Literal, Select, Struct};
use crate::env::Env;
use crate::functions::{Function, function};
use crate::parser::Parsed;
use crate::source::{Issues, Location, Source};
use crate::types::{GenericKind, Type};
use unify::{Substitution, most_general};

/// Types with more parts are rejected. Their size may be exponential in the length of the expression.
const MAX_TYPE_SIZE: u64 = 1000;

/// What an identifier or call refers to.
#[derive(Debug, Clone, Default)]
pub(crate) enum Reference {
    #[default]
    None,
    /// A variable of the environment or of a comprehension.
    Variable,
    /// A type as a value.
    Type(Type),
    /// The overloads of a function that the types of the arguments match.
    Function(&'static Function, Vec<&'static str>),
}

/// A type-checked expression.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) root: Expr,
    pub(crate) types: Vec<Type>,
    pub(crate) references: Vec<Reference>,
    /// The variables of the environment that are used.
    pub(crate) variables: Vec<Arc<str>>,
}

impl Checked {
    pub(crate) fn type_of(&self, expr: &Expr) -> &Type {
        self.types.get(expr.id).unwrap_or(&Type::Error)
    }

    pub(crate) fn reference(&self, id: Id) -> &Reference {
        self.references.get(id).unwrap_or(&Reference::None)
    }
}

/// Checks a parsed expression.
pub(crate) fn check(parsed: Parsed, env: &Env) -> Result<Checked, Issues> {
    let Parsed {
        mut root,
        source,
        offsets,
    } = parsed;
    let mut checker = Checker {
        env,
        source: &source,
        offsets: &offsets,
        issues: Issues::default(),
        types: vec![Type::Error; offsets.len()],
        references: vec![Reference::None; offsets.len()],
        substitution: Substitution::default(),
        locals: Vec::new(),
        variables: Vec::new(),
    };
    checker.check(&mut root);
    let Checker {
        mut issues,
        types,
        references,
        substitution,
        variables,
        ..
    } = checker;
    if !issues.is_empty() {
        return Err(issues);
    }
    let types = types
        .iter()
        .map(|type_| substitution.substitute(type_, true));
    let checked = Checked {
        types: types.collect(),
        root,
        references,
        variables,
    };
    validators::validate(&checked, |expr, message| {
        let offset = offsets.get(expr.id).copied().unwrap_or(0);
        issues.report(&source, source.location(offset), message);
    });
    if issues.is_empty() {
        Ok(checked)
    } else {
        Err(issues)
    }
}

struct Checker<'c> {
    env: &'c Env,
    source: &'c Source,
    offsets: &'c [usize],
    issues: Issues,
    types: Vec<Type>,
    references: Vec<Reference>,
    substitution: Substitution,
    /// The variables of the enclosing comprehensions.
    locals: Vec<(Arc<str>, Type)>,
    variables: Vec<Arc<str>>,
}

impl Checker<'_> {
    fn report(&mut self, expr: &Expr, message: String) {
        self.report_at(expr.id, message);
    }

    fn report_at(&mut self, id: Id, message: String) {
        let offset = self.offsets.get(id);
        let location = offset.map_or(Location::NONE, |offset| self.source.location(*offset));
        self.issues.report(self.source, location, message);
    }

    fn undeclared(&mut self, expr: &Expr, name: &str) {
        self.report(
            expr,
            format!("undeclared reference to '{name}' (in container '')"),
        );
    }

    fn set(&mut self, id: Id, type_: Type) {
        let type_ = if type_.size() > MAX_TYPE_SIZE {
            self.report_at(id, "type of expression is too complex".to_owned());
            Type::Error
        } else {
            type_
        };
        if let Some(slot) = self.types.get_mut(id) {
            *slot = type_;
        }
    }

    fn refer(&mut self, id: Id, reference: Reference) {
        if let Some(slot) = self.references.get_mut(id) {
            *slot = reference;
        }
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.types.get(expr.id).cloned().unwrap_or(Type::Error)
    }

    /// The type with the types that its variables stand for.
    fn resolved(&self, expr: &Expr) -> Type {
        self.substitution.substitute(&self.type_of(expr), false)
    }

    fn is_assignable(&mut self, one: &Type, other: &Type) -> bool {
        let (one, other) = (std::slice::from_ref(one), std::slice::from_ref(other));
        self.substitution.is_assignable(one, other)
    }

    fn check(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let type_ = match &mut expr.kind {
            Kind::Unspecified => Type::Error,
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(_) => return self.ident(expr),
            Kind::Select(_) => return self.select(expr),
            Kind::Call(_) => return self.call(expr),
            Kind::List(list) => self.list(list),
            Kind::Map(entries) => self.map(entries),
            Kind::Struct(message) => {
                let name = message.type_name.trim_start_matches('.').to_owned();
                if let Some(type_) = self.env.patch_type(&name) {
                    self.create(message, &name);
                    type_
                } else {
                    self.undeclared(expr, &name);
                    Type::Error
                }
            }
            Kind::Comprehension(fold) => self.comprehension(fold),
        };
        self.set(id, type_);
    }

    /// Checks the fields of a new object.
    fn create(&mut self, message: &mut Struct, name: &str) {
        message.type_name = name.into();
        for field in &mut message.fields {
            self.check(&mut field.value);
            let mut found = self.type_of(&field.value);
            if field.optional {
                found = self.unwrap_optional(&field.value, found);
            }
            let Some(declared) = self.env.field(name, &field.name) else {
                self.report_at(field.id, format!("undefined field '{}'", field.name));
                continue;
            };
            if !self.is_assignable(&declared, &found) {
                let message = format!(
                    "expected type of field '{}' is '{declared}' but provided type is '{found}'",
                    field.name
                );
                self.report_at(field.id, message);
            }
        }
    }

    /// The type of a name and what it refers to.
    fn lookup(&mut self, name: &str) -> Option<(Type, Reference)> {
        let is_absolute = name.starts_with('.');
        let name = name.trim_start_matches('.');
        let local = self.locals.iter().rev().find(|(local, _)| &**local == name);
        if let Some((_, type_)) = local.filter(|_| !is_absolute) {
            return Some((type_.clone(), Reference::Variable));
        }
        if let Some((name, type_)) = self.env.lookup(name) {
            if !self.variables.contains(name) {
                self.variables.push(name.clone());
            }
            return Some((type_.clone(), Reference::Variable));
        }
        let type_ = type_named(name).or_else(|| self.env.patch_type(name))?;
        Some((Type::type_of(type_.clone()), Reference::Type(type_)))
    }

    fn ident(&mut self, expr: &mut Expr) {
        let Kind::Ident(name) = &mut expr.kind else {
            return;
        };
        let full = name.clone();
        *name = name.trim_start_matches('.').into();
        if let Some((type_, reference)) = self.lookup(&full) {
            self.set(expr.id, type_);
            self.refer(expr.id, reference);
        } else {
            self.undeclared(expr, &full);
            self.set(expr.id, Type::Error);
        }
    }

    fn select(&mut self, expr: &mut Expr) {
        if let Some(name) = expr.qualified_name()
            && let Some((type_, reference)) = self.lookup(&name)
        {
            expr.kind = Kind::Ident(name.into());
            self.set(expr.id, type_);
            self.refer(expr.id, reference);
            return;
        }
        let id = expr.id;
        let Kind::Select(select) = &mut expr.kind else {
            return;
        };
        let Select {
            operand,
            field,
            test_only,
        } = &mut **select;
        let type_ = self.field(id, operand, &field.clone(), false);
        let type_ = if *test_only { Type::Bool } else { type_ };
        let type_ = self.substitution.substitute(&type_, false);
        self.set(id, type_);
    }

    /// The type of a field of an operand.
    fn field(&mut self, id: Id, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand_type = self.resolved(operand);
        let (target, is_optional) = match operand_type.optional_value() {
            Some(value) => (value.clone(), true),
            None => (operand_type.clone(), false),
        };
        let type_ = match &target {
            Type::Struct(name) => {
                if let Some(type_) = self.env.field(name, field) {
                    type_
                } else {
                    self.report_at(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            }
            Type::Variable(_) => {
                self.is_assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            target => {
                if let Some((_, value)) = target.map_entry() {
                    value.clone()
                } else {
                    if !target.is_dyn_or_error() {
                        let message = format!("type '{target}' does not support field selection");
                        self.report_at(id, message);
                    }
                    Type::Dyn
                }
            }
        };
        if is_optional || optional {
            Type::optional(type_)
        } else {
            type_
        }
    }

    fn call(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::Call(call) = &mut expr.kind else {
            return;
        };
        if &*call.function == "_?._" {
            let Some(type_) = self.optional_select(id, call) else {
                return;
            };
            let type_ = self.substitution.substitute(&type_, false);
            return self.set(id, type_);
        }
        for arg in &mut call.args {
            self.check(arg);
        }
        let name = match &call.target {
            None => Some(call.function.trim_start_matches('.').to_owned()),
            Some(target) => target
                .qualified_name()
                .map(|target| format!("{target}.{}", call.function))
                .filter(|name| function(name).is_some() && self.env.declares(name)),
        };
        if let Some(name) = name {
            call.target = None;
            call.function = name.as_str().into();
        }
        if let Some(target) = &mut call.target {
            self.check(target);
        }
        let declared = function(&call.function).filter(|function| !function.overloads.is_empty());
        let Some(declared) = declared else {
            let name = call.function.to_string();
            self.undeclared(expr, &name);
            return self.set(id, Type::Error);
        };
        self.resolve_overload(id, call, declared);
    }

    fn optional_select(&mut self, id: Id, call: &mut Call) -> Option<Type> {
        let [operand, field] = call.args.as_mut_slice() else {
            return None;
        };
        let name = field.as_string()?.clone();
        self.set(field.id, Type::String);
        Some(self.field(id, operand, &name, true))
    }

    fn resolve_overload(&mut self, id: Id, call: &Call, declared: &'static Function) {
        let args: Vec<Type> = call
            .target
            .iter()
            .chain(&call.args)
            .map(|arg| self.type_of(arg))
            .collect();
        if matches!(declared.name, "_&&_" | "_||_") {
            let is_valid = self.check_logical(call, &args);
            let overload = declared.overloads.iter().map(|overload| overload.id);
            self.refer(id, Reference::Function(declared, overload.collect()));
            return self.set(id, if is_valid { Type::Bool } else { Type::Error });
        }
        let mut result: Option<Type> = None;
        let mut matching = Vec::new();
        for overload in &declared.overloads {
            if overload.is_member != call.target.is_some() {
                continue;
            }
            let mut fresh = Vec::new();
            let parameters: Vec<Type> = overload
                .args
                .iter()
                .map(|type_| self.instantiate(type_, &mut fresh))
                .collect();
            let overload_result = self.instantiate(&overload.result, &mut fresh);
            if !self.substitution.is_assignable(&args, &parameters) {
                continue;
            }
            matching.push(overload.id);
            let overload_result = self.substitution.substitute(&overload_result, false);
            result = Some(match result {
                None => overload_result,
                Some(Type::Dyn) => Type::Dyn,
                Some(result) if result == overload_result => result,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(type_) => {
                self.refer(id, Reference::Function(declared, matching));
                self.set(id, type_);
            }
            None => self.no_matching_overload(id, call, declared, &args),
        }
    }

    fn check_logical(&mut self, call: &Call, args: &[Type]) -> bool {
        let mut is_valid = true;
        for (arg, type_) in call.args.iter().zip(args) {
            if !self.is_assignable(type_, &Type::Bool) {
                is_valid = false;
                self.report(arg, format!("expected type 'bool' but found '{type_}'"));
            }
        }
        is_valid
    }

    fn no_matching_overload(&mut self, id: Id, call: &Call, declared: &Function, args: &[Type]) {
        let args: Vec<String> = args
            .iter()
            .map(|type_| self.substitution.substitute(type_, true).to_string())
            .collect();
        let signature = match args.split_first() {
            Some((target, rest)) if call.target.is_some() => {
                format!("{target}.({})", rest.join(", "))
            }
            _ => format!("({})", args.join(", ")),
        };
        let name = declared.name;
        let message = format!("found no matching overload for '{name}' applied to '{signature}'");
        self.report_at(id, message);
        self.set(id, Type::Error);
    }

    /// The type with a new variable for each type parameter.
    fn instantiate(&mut self, type_: &Type, fresh: &mut Vec<(&'static str, Type)>) -> Type {
        match type_ {
            Type::Param(name) => {
                if let Some((_, type_)) = fresh.iter().find(|(fresh, _)| fresh == name) {
                    return type_.clone();
                }
                let variable = self.substitution.new_variable();
                fresh.push((name, variable.clone()));
                variable
            }
            Type::Generic(generic) if !generic.parameters.is_empty() => {
                let parameters = generic.parameters.iter();
                let parameters = parameters.map(|type_| self.instantiate(type_, fresh));
                Type::generic(generic.kind, parameters.collect())
            }
            other => other.clone(),
        }
    }

    /// The type of both the previous elements and the next one. Whether they are the same is checked later.
    fn join(&mut self, previous: Option<Type>, next: Type) -> Type {
        let Some(previous) = previous else {
            return next;
        };
        if self.is_assignable(&previous, &next) {
            return most_general(&previous, &next);
        }
        Type::Dyn
    }

    /// The type inside of an element with a question mark.
    fn unwrap_optional(&mut self, expr: &Expr, type_: Type) -> Type {
        if let Some(value) = type_.optional_value() {
            value.clone()
        } else {
            if !matches!(type_, Type::Dyn) {
                let expected = Type::optional(type_.clone());
                self.report(
                    expr,
                    format!("expected type '{expected}' but found '{type_}'"),
                );
            }
            type_
        }
    }

    fn list(&mut self, list: &mut List) -> Type {
        let mut type_ = None;
        for (i, element) in list.elements.iter_mut().enumerate() {
            self.check(element);
            let mut next = self.type_of(element);
            if list.optionals.contains(&i) {
                next = self.unwrap_optional(element, next);
            }
            type_ = Some(self.join(type_, next));
        }
        Type::list(type_.unwrap_or_else(|| self.substitution.new_variable()))
    }

    fn map(&mut self, entries: &mut [Entry]) -> Type {
        let (mut key_type, mut value_type) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let next = self.type_of(&entry.key);
            key_type = Some(self.join(key_type, next));
            self.check(&mut entry.value);
            let mut next = self.type_of(&entry.value);
            if entry.optional {
                next = self.unwrap_optional(&entry.value, next);
            }
            value_type = Some(self.join(value_type, next));
        }
        let key = key_type.unwrap_or_else(|| self.substitution.new_variable());
        let value = value_type.unwrap_or_else(|| self.substitution.new_variable());
        Type::map(key, value)
    }

    fn comprehension(&mut self, fold: &mut Comprehension) -> Type {
        self.check(&mut fold.range);
        self.check(&mut fold.init);
        let range = self.resolved(&fold.range);
        let accumulator = self.type_of(&fold.init);
        let outer = self.locals.len();
        self.locals
            .push((fold.accumulator.clone(), accumulator.clone()));
        let (first, second) = self.variable_types(fold, &range);
        let inner = self.locals.len();
        self.locals.push((fold.variable.clone(), first));
        if let Some(variable) = &fold.variable2 {
            self.locals.push((variable.clone(), second));
        }
        self.check(&mut fold.condition);
        self.expect(&fold.condition, &Type::Bool);
        self.check(&mut fold.step);
        self.expect(&fold.step, &accumulator);
        self.locals.truncate(inner);
        self.check(&mut fold.result);
        self.locals.truncate(outer);
        self.resolved(&fold.result)
    }

    fn variable_types(&mut self, fold: &Comprehension, range: &Type) -> (Type, Type) {
        let has_two = fold.variable2.is_some();
        match range.generic_kind() {
            Some(GenericKind::List) => {
                let element = range.list_element().cloned().unwrap_or(Type::Dyn);
                if has_two {
                    (Type::Int, element)
                } else {
                    (element, Type::Dyn)
                }
            }
            Some(GenericKind::Map) => match range.map_entry() {
                Some((key, value)) => (key.clone(), value.clone()),
                None => (Type::Dyn, Type::Dyn),
            },
            _ if matches!(range, Type::Dyn | Type::Error | Type::Variable(_)) => {
                self.is_assignable(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            _ => {
                let message = format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(&fold.range, message);
                (Type::Error, Type::Error)
            }
        }
    }

    fn expect(&mut self, expr: &Expr, type_: &Type) {
        let found = self.type_of(expr);
        if !self.is_assignable(type_, &found) {
            self.report(expr, format!("expected type '{type_}' but found '{found}'"));
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The types that expressions can name.
fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "dyn" => Type::Dyn,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "string" => Type::String,
        "type" => Type::type_of(Type::Dyn),
        "uint" => Type::Uint,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "optional_type" => Type::optional(Type::Dyn),
        "net.IP" => Type::opaque("net.IP"),
        "net.CIDR" => Type::opaque("net.CIDR"),
        _ => return None,
    })
}
