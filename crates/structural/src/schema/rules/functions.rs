//! The functions of rules: those of CEL and Kubernetes, and those that the CEL crate lacks or implements differently
//! from kube-apiserver.

use std::cell::RefCell;
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, Program, Value};

thread_local! {
    /// Cached, since registering all functions takes longer than most rules.
    static FUNCTIONS: RefCell<Context<'static>> = RefCell::new(all());
}

/// Calls a closure with a context that has all functions.
pub(super) fn with<T>(call: impl FnOnce(&Context<'static>) -> T) -> T {
    FUNCTIONS.with_borrow(call)
}

/// The type names in expressions such as `type(x) == int`.
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
        functions.add_variable_from_value(name, Value::String(type_value(name)));
    }
    functions
}

/// The size of a string is counted in code points.
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
    type_value(match this {
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

/// The value of a type, which equals only itself.
fn type_value(name: &str) -> Arc<String> {
    Arc::new(format!("\u{0}type {name}"))
}

/// The prefixes of function names.
const PREFIXES: [&str; 9] = [
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

/// The first undeclared function that a rule calls. The AST has function names without their prefixes.
pub(super) fn undeclared(rule: &IdedExpr) -> Option<String> {
    let references = rule.references();
    let called = references.functions();
    let mut called = called
        .into_iter()
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    let is_undeclared = |name: &&str| {
        let mut names = PREFIXES.iter().map(|prefix| format!("{prefix}{name}"));
        !names.any(|name| exists(&name))
    };
    called.find(is_undeclared).map(str::to_owned)
}

/// Whether a function exists, determined by calling it without arguments.
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
    fn finds_undeclared_functions() {
        let undeclared_in = |text: &str| {
            let rule = kube_cel::cel::parser::Parser::default().parse(text);
            undeclared(&rule.unwrap())
        };
        assert_eq!(
            undeclared_in(
                "self.split(',').size() == 1 && quantity('1').isGreaterThan(quantity('2'))"
            ),
            None
        );
        assert_eq!(
            undeclared_in("self.all(x, x == 1) && type(self) == int"),
            None
        );
        assert_eq!(
            undeclared_in("self.all(i, x, x == 1)"),
            Some("all".to_owned())
        );
        assert_eq!(undeclared_in("frob(self)"), Some("frob".to_owned()));
    }
}
