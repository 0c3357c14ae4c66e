//! Which types can be assigned to each other, and what free type variables stand for.

use crate::types::{GenericKind, Type};

/// The types that free variables stand for. Changes can be undone.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    variables: Vec<Option<Type>>,
    /// The former values of changed variables.
    trail: Vec<(usize, Option<Type>)>,
}

impl Substitution {
    pub(super) fn new_variable(&mut self) -> Type {
        let index = self.variables.len();
        self.variables.push(None);
        Type::Variable(index)
    }

    fn find(&self, type_: &Type) -> Option<&Type> {
        match type_ {
            Type::Variable(index) => self.variables.get(*index)?.as_ref(),
            _ => None,
        }
    }

    fn set(&mut self, variable: &Type, type_: Type) {
        if let Type::Variable(index) = variable
            && let Some(slot) = self.variables.get_mut(*index)
        {
            self.trail.push((*index, slot.replace(type_)));
        }
    }

    /// Whether all types of one list can be assigned to those of the other one. If not, nothing changes.
    pub(super) fn is_assignable(&mut self, ones: &[Type], others: &[Type]) -> bool {
        let mark = self.trail.len();
        let is_assignable = self.all_assignable(ones, others);
        if !is_assignable {
            while self.trail.len() > mark {
                if let Some((index, former)) = self.trail.pop()
                    && let Some(slot) = self.variables.get_mut(index)
                {
                    *slot = former;
                }
            }
        }
        is_assignable
    }

    fn all_assignable(&mut self, ones: &[Type], others: &[Type]) -> bool {
        ones.len() == others.len()
            && ones
                .iter()
                .zip(others)
                .all(|(one, other)| self.assignable(one, other))
    }

    fn assignable(&mut self, one: &Type, other: &Type) -> bool {
        if matches!(other, Type::Variable(_)) {
            match self.substitute_variable(one, other) {
                Assignment::Valid => return true,
                Assignment::Conflict => return false,
                Assignment::Recursive => {}
            }
        }
        if matches!(one, Type::Variable(_)) {
            return matches!(self.substitute_variable(other, one), Assignment::Valid);
        }
        if one.is_dyn_or_error() || other.is_dyn_or_error() {
            return true;
        }
        if matches!(one, Type::Null) {
            return is_nullable(other);
        }
        if matches!(other, Type::Null) {
            return is_nullable(one);
        }
        match (one, other) {
            (Type::Generic(generic), Type::Generic(other)) => {
                if generic.kind == GenericKind::Type {
                    return other.kind == GenericKind::Type;
                }
                generic.kind == other.kind
                    && self.all_assignable(&generic.parameters, &other.parameters)
            }
            (one, other) => one == other,
        }
    }

    fn substitute_variable(&mut self, type_: &Type, variable: &Type) -> Assignment {
        if type_ == variable {
            return Assignment::Valid;
        }
        if let Some(current) = self.find(variable).cloned() {
            if *type_ == current {
                return Assignment::Valid;
            }
            if self.assignable(type_, &current) {
                let general = most_general(type_, &current);
                if self.is_independent(variable, &general) {
                    self.set(variable, general);
                }
                return Assignment::Valid;
            }
            return Assignment::Conflict;
        }
        if self.is_independent(variable, type_) {
            self.set(variable, type_.clone());
            return Assignment::Valid;
        }
        Assignment::Recursive
    }

    /// Whether a variable does not occur in a type.
    fn is_independent(&self, variable: &Type, type_: &Type) -> bool {
        if variable == type_ {
            return false;
        }
        match type_ {
            Type::Variable(_) => match self.find(type_) {
                Some(type_) => self.is_independent(variable, type_),
                None => true,
            },
            type_ => type_
                .parameters()
                .iter()
                .all(|parameter| self.is_independent(variable, parameter)),
        }
    }

    /// The type with its variables replaced. Unknown variables become `dyn` if `to_dyn`.
    pub(super) fn substitute(&self, type_: &Type, to_dyn: bool) -> Type {
        if let Some(type_) = self.find(type_) {
            return self.substitute(type_, to_dyn);
        }
        match type_ {
            Type::Variable(_) if to_dyn => Type::Dyn,
            Type::Generic(generic) if !generic.parameters.is_empty() => {
                let parameters = generic.parameters.iter();
                let parameters = parameters.map(|parameter| self.substitute(parameter, to_dyn));
                Type::generic(generic.kind, parameters.collect())
            }
            other => other.clone(),
        }
    }
}

enum Assignment {
    Valid,
    /// The variable stands for another type.
    Conflict,
    /// The variable occurs in the type.
    Recursive,
}

fn is_nullable(type_: &Type) -> bool {
    matches!(
        type_,
        Type::Null | Type::Struct(_) | Type::Duration | Type::Timestamp
    ) || matches!(type_.generic_kind(), Some(GenericKind::Opaque(_)))
}

/// The more general one of two types that can be assigned to each other.
pub(super) fn most_general(one: &Type, other: &Type) -> Type {
    if is_equal_or_less_specific(one, other) {
        one.clone()
    } else {
        other.clone()
    }
}

fn is_equal_or_less_specific(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Dyn | Type::Variable(_) | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Variable(_) | Type::Param(_)) => false,
        (Type::Generic(generic), Type::Generic(other)) => {
            generic.kind == other.kind
                && (generic.kind == GenericKind::Type
                    || (generic.parameters.len() == other.parameters.len()
                        && generic
                            .parameters
                            .iter()
                            .zip(&other.parameters)
                            .all(|(one, other)| is_equal_or_less_specific(one, other))))
        }
        (one, other) => one == other,
    }
}
