//! The expressions of admission policies: what they can refer to, and which type they must have.

use outrigger_cel::{Env, Program, Type};

/// The type that an expression must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Any,
    Bool,
    String,
    /// An apply configuration of a mutating admission policy.
    Object,
    /// A list of operations of a mutating admission policy.
    JsonPatch,
}

impl Expected {
    fn type_(self) -> Type {
        match self {
            Self::Any => Type::Dyn,
            Self::Bool => Type::Bool,
            Self::String => Type::String,
            Self::Object => Type::object("Object"),
            Self::JsonPatch => Type::list(Type::object("JSONPatch")),
        }
    }
}

/// Why an expression of a policy cannot be used, in the words of kube-apiserver.
pub(crate) fn check(text: &str, has_params: bool, expected: Expected) -> Result<(), String> {
    compile(text, &environment(has_params), expected).map(drop)
}

/// What the expressions of a policy can refer to.
pub fn environment(has_params: bool) -> Env {
    let mut env = Env::new();
    for name in [
        "object",
        "oldObject",
        "request",
        "namespaceObject",
        "variables",
    ] {
        env = env.variable(name, Type::Dyn);
    }
    if has_params {
        env = env.variable("params", Type::Dyn);
    }
    env
}

/// Compiles an expression, or says why it cannot be used.
pub fn compile(text: &str, env: &Env, expected: Expected) -> Result<Program, String> {
    let compiled = match expected {
        Expected::Any | Expected::Bool | Expected::String => env.compile(text),
        Expected::Object | Expected::JsonPatch => env.clone().patch_types().compile(text),
    };
    let compiled = compiled.map_err(|issues| format!("compilation failed: {issues}"))?;
    let type_ = expected.type_();
    let found = compiled.output_type();
    if expected != Expected::Any && *found != type_ && *found != Type::Dyn {
        return Err(format!("must evaluate to {type_} but got {found}"));
    }
    compiled.program().map_err(|error| error.to_string())
}
