//! The functions that rules can call: those of CEL and Kubernetes, and what the CEL library lacks or does in another
//! way than a real server.

use std::cell::RefCell;
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, Program, Value};

thread_local! {
    /// Registering all functions takes longer than most rules.
    static FUNCTIONS: RefCell<Context<'static>> = RefCell::new(all());
}

/// Runs something with all functions at hand.
pub(super) fn with<T>(run: impl FnOnce(&Context<'static>) -> T) -> T {
    FUNCTIONS.with_borrow(run)
}

/// Names of types, as `type(x) == int` uses them.
const TYPES: [&str; 9] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "uint",
];

fn all() -> Context<'static> {
    let mut functions = Context::default().with_all();
    functions.add_function("size", size);
    functions.add_function("type", type_of);
    for name in TYPES {
        functions.add_variable_from_value(name, Value::String(type_text(name)));
    }
    functions
}

/// Strings have as many characters as one sees, not bytes.
fn size(context: &FunctionContext<'_, '_>, This(this): This<Value>) -> Result<i64, ExecutionError> {
    let size = match this {
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => return Err(context.error("no such overload")),
    };
    Ok(i64::try_from(size).unwrap_or(i64::MAX))
}

fn type_of(This(this): This<Value>) -> Arc<String> {
    type_text(match this {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        _ => "dyn",
    })
}

/// A value that equals nothing but the same type.
fn type_text(name: &str) -> Arc<String> {
    Arc::new(format!("\u{0}type {name}"))
}

/// What stands before the names of functions.
const LIBRARIES: [&str; 9] = [
    "",
    "base64.",
    "cidr.",
    "format.",
    "ip.",
    "jsonpatch.",
    "math.",
    "optional.",
    "sets.",
];

/// A function that a rule calls and that does not exist. Which library it would be from, a rule does not tell.
pub(super) fn missing(rule: &IdedExpr) -> Option<String> {
    let references = rule.references();
    let called = references.functions();
    let mut called = called
        .into_iter()
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    let is_missing = |name: &&str| {
        let mut names = LIBRARIES.iter().map(|library| format!("{library}{name}"));
        !names.any(|name| exists(&name))
    };
    called.find(is_missing).map(str::to_owned)
}

/// A call without arguments tells whether there is a function at all.
fn exists(name: &str) -> bool {
    let call = Program::compile(&format!("{name}()"));
    call.is_ok_and(|call| {
        let result = with(|functions| call.execute(functions));
        !matches!(result, Err(ExecutionError::UndeclaredReference(_)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_do_not_exist_are_found() {
        let missing_in = |text: &str| {
            let rule = kube_cel::cel::parser::Parser::default().parse(text);
            missing(&rule.unwrap())
        };
        assert_eq!(
            missing_in("self.split(',').size() == 1 && quantity('1').isGreaterThan(quantity('2'))"),
            None
        );
        assert_eq!(missing_in("self.all(x, x == 1) && type(self) == int"), None);
        assert_eq!(missing_in("self.all(i, x, x == 1)"), Some("all".to_owned()));
        assert_eq!(missing_in("frob(self)"), Some("frob".to_owned()));
    }
}
