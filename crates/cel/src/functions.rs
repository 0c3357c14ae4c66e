//! The functions of the environment: their declarations, which the checker uses, and their implementations.

mod authorization;
pub(crate) mod convert;
mod format;
mod json_patch;
mod lists;
pub(crate) mod named_format;
mod network;
mod operators;
mod optional;
mod quantity;
pub(crate) mod regex;
pub(crate) mod semver;
mod sets;
mod strings;
mod time;
mod urls;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::Error;
use crate::meter::Meter;
use crate::types::{GenericKind, Type};
use crate::value::{Opaque, Value};

pub(crate) use format::check as check_format;

/// Computes the result of a call. The arguments may be taken out of the slice.
pub(crate) type Implementation =
    for<'v> fn(&mut Meter, &mut [Value<'v>]) -> Result<Value<'v>, Error>;

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) is_member: bool,
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) implementation: Option<Implementation>,
}

/// A function with all its signatures.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
    /// The implementation of all overloads, which depends on the values only.
    pub(crate) singleton: Option<Implementation>,
    /// Whether the types of arguments are checked before an overload is called.
    pub(crate) has_guards: bool,
    /// Whether an error in an argument prevents the evaluation of those that follow.
    pub(crate) is_variadic: bool,
}

impl Function {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            overloads: Vec::new(),
            singleton: None,
            has_guards: true,
            is_variadic: false,
        }
    }

    fn add(
        mut self,
        id: &'static str,
        is_member: bool,
        args: impl Into<Vec<Type>>,
        result: Type,
        implementation: Option<Implementation>,
    ) -> Self {
        self.overloads.push(Overload {
            id,
            is_member,
            args: args.into(),
            result,
            implementation,
        });
        self
    }

    fn global(
        self,
        id: &'static str,
        args: impl Into<Vec<Type>>,
        result: Type,
        implementation: Implementation,
    ) -> Self {
        self.add(id, false, args, result, Some(implementation))
    }

    fn member(
        self,
        id: &'static str,
        args: impl Into<Vec<Type>>,
        result: Type,
        implementation: Implementation,
    ) -> Self {
        self.add(id, true, args, result, Some(implementation))
    }

    /// An overload of a singleton, or one that the evaluator implements.
    fn declared(self, id: &'static str, args: impl Into<Vec<Type>>, result: Type) -> Self {
        self.add(id, false, args, result, None)
    }

    fn declared_member(self, id: &'static str, args: impl Into<Vec<Type>>, result: Type) -> Self {
        self.add(id, true, args, result, None)
    }

    fn singleton(mut self, implementation: Implementation) -> Self {
        self.singleton = Some(implementation);
        self
    }

    fn without_guards(mut self) -> Self {
        self.has_guards = false;
        self
    }

    fn variadic(mut self) -> Self {
        self.is_variadic = true;
        self
    }

    pub(crate) fn overload(&self, id: &str) -> Option<&Overload> {
        self.overloads.iter().find(|overload| overload.id == id)
    }

    /// Whether an overload accepts the values.
    pub(crate) fn accepts(&self, overload: &str, args: &[Value<'_>]) -> bool {
        !self.has_guards
            || self
                .overload(overload)
                .is_some_and(|overload| overload.accepts(args))
    }

    /// Calls the overload whose types match the values.
    pub(crate) fn dispatch<'v>(
        &self,
        meter: &mut Meter,
        args: &mut [Value<'v>],
    ) -> Result<Value<'v>, Error> {
        let mut overloads = self.overloads.iter();
        let overload =
            overloads.find(|overload| overload.implementation.is_some() && overload.accepts(args));
        match overload.and_then(|overload| overload.implementation) {
            Some(implementation) => implementation(meter, args),
            None => Err(self.no_such_overload(args)),
        }
    }

    /// The error for values that no overload accepts.
    pub(crate) fn no_such_overload(&self, args: &[Value<'_>]) -> Error {
        if !self.has_guards {
            return Error::NoSuchOverload;
        }
        let types: Vec<_> = args.iter().map(Value::type_name).collect();
        let types = types.join(", ");
        Error::function(format!("no such overload: {}({types})", self.name))
    }
}

impl Overload {
    fn accepts(&self, args: &[Value<'_>]) -> bool {
        self.args.len() == args.len()
            && self
                .args
                .iter()
                .zip(args)
                .all(|(type_, value)| is_assignable(type_, value))
    }
}

/// Whether a value may have a type. Only the first elements of lists are looked at.
fn is_assignable(type_: &Type, value: &Value<'_>) -> bool {
    match (type_, value) {
        (Type::Dyn | Type::Param(_) | Type::Variable(_), _)
        | (Type::Null, Value::Null)
        | (Type::Bool, Value::Bool(_))
        | (Type::Int, Value::Int(_))
        | (Type::Uint, Value::Uint(_))
        | (Type::Double, Value::Double(_))
        | (Type::String, Value::String(_))
        | (Type::Bytes, Value::Bytes(_))
        | (Type::Timestamp, Value::Timestamp(_))
        | (Type::Duration, Value::Duration(_)) => true,
        (Type::Generic(generic), value) => match (generic.kind, value) {
            (GenericKind::List, Value::List(list)) => {
                match (generic.parameters.first(), list.get(0)) {
                    (Some(element), Some(Ok(first))) => is_assignable(element, &first),
                    _ => true,
                }
            }
            (GenericKind::Map, Value::Map(_))
            | (GenericKind::Type, Value::Type(_))
            | (GenericKind::Opaque("optional_type"), Value::Optional(_))
            | (GenericKind::Opaque("net.IP"), Value::Opaque(Opaque::Ip(_)))
            | (GenericKind::Opaque("net.CIDR"), Value::Opaque(Opaque::Cidr(..))) => true,
            _ => false,
        },
        (Type::Struct(_), Value::Opaque(opaque)) => opaque.type_() == *type_,
        _ => false,
    }
}

/// The function with a name.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(all);
    FUNCTIONS.get(name)
}

fn all() -> HashMap<&'static str, Function> {
    let libraries = [
        operators::functions(),
        convert::functions(),
        time::functions(),
        strings::functions(),
        format::functions(),
        lists::functions(),
        sets::functions(),
        regex::functions(),
        urls::functions(),
        quantity::functions(),
        network::functions(),
        semver::functions(),
        named_format::functions(),
        optional::functions(),
        json_patch::functions(),
        authorization::functions(),
    ];
    let mut functions: HashMap<&'static str, Function> = HashMap::new();
    for function in libraries.into_iter().flatten() {
        match functions.get_mut(function.name) {
            Some(existing) => {
                existing.overloads.extend(function.overloads);
                existing.has_guards |= function.has_guards;
            }
            None => {
                functions.insert(function.name, function);
            }
        }
    }
    functions
}

/// `None` stands for an argument of an unexpected type.
fn text<'a>(value: &'a Value<'_>) -> Result<&'a str, Error> {
    match value {
        Value::String(text) => Ok(text.as_str()),
        _ => Err(Error::NoSuchOverload),
    }
}

fn int(value: &Value<'_>) -> Result<i64, Error> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(Error::NoSuchOverload),
    }
}

fn list<'a, 'v>(value: &'a Value<'v>) -> Result<&'a crate::value::List<'v>, Error> {
    match value {
        Value::List(list) => Ok(list),
        _ => Err(Error::NoSuchOverload),
    }
}
