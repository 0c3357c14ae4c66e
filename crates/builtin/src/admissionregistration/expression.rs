//! The expressions of admission policies: what they can refer to, and which type they must have.

use outrigger_cel::{Authorization, Env, Program, Type};
use serde_json::Value;

use crate::fields::list;

/// What an expression is for, which determines its type and what it can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Of any type. It can refer to the variables before it.
    Variable,
    /// A match condition, which is evaluated before the variables.
    Condition,
    Validation,
    /// A message, which cannot make authorization checks.
    Message,
    /// An apply configuration of a mutating admission policy.
    ApplyConfiguration,
    /// A list of operations of a mutating admission policy.
    JsonPatch,
    /// The value of an audit annotation; null for none.
    AuditAnnotation,
}

impl Purpose {
    /// The types that the expression may have; none for any.
    fn types(self) -> Vec<Type> {
        match self {
            Self::Variable => Vec::new(),
            Self::Condition | Self::Validation => vec![Type::Bool],
            Self::Message => vec![Type::String],
            Self::ApplyConfiguration => vec![Type::object("Object")],
            Self::JsonPatch => vec![Type::list(Type::object("JSONPatch"))],
            Self::AuditAnnotation => vec![Type::String, Type::Null],
        }
    }
}

/// The object type of `variables`.
const VARIABLES: &str = "kubernetes.variables";

/// Compiles the expressions of a policy. Variables must be compiled first, in their order.
#[derive(Debug, Clone)]
pub struct Compiler {
    /// What all expressions can refer to.
    env: Env,
    /// None for a policy whose expressions cannot refer to `variables`.
    variables: Option<Vec<(String, Type)>>,
}

impl Compiler {
    /// For a `ValidatingAdmissionPolicy`.
    pub fn validating(spec: &Value) -> Self {
        let has_variables = !list(spec, "variables").is_empty();
        Self {
            env: environment(spec),
            variables: has_variables.then(Vec::new),
        }
    }

    /// For a webhook, which has match conditions only.
    pub fn webhook() -> Self {
        Self {
            env: environment(&Value::Null),
            variables: None,
        }
    }

    /// For a `MutatingAdmissionPolicy`.
    pub fn mutating(spec: &Value) -> Self {
        Self {
            env: environment(spec),
            variables: Some(Vec::new()),
        }
    }

    /// Compiles a variable and declares it for all expressions that follow. One that does not compile can have any type.
    pub fn variable(&mut self, name: &str, text: &str) -> Result<Program, String> {
        let compiled = self.compile_typed(text, Purpose::Variable);
        let type_ = compiled.as_ref().map(|(_, type_)| type_.of_variable());
        if let Some(variables) = &mut self.variables {
            variables.push((name.to_owned(), type_.unwrap_or(Type::Dyn)));
        }
        compiled.map(|(program, _)| program)
    }

    /// Compiles an expression, or says why it cannot be used, in the words of kube-apiserver.
    pub fn compile(&self, text: &str, purpose: Purpose) -> Result<Program, String> {
        let (program, _) = self.compile_typed(text, purpose)?;
        Ok(program)
    }

    fn compile_typed(&self, text: &str, purpose: Purpose) -> Result<(Program, Type), String> {
        let compiled = self.env(purpose).compile(text);
        let compiled = compiled.map_err(|issues| format!("compilation failed: {issues}"))?;
        let found = compiled.output_type();
        let types = purpose.types();
        if !types.is_empty() && !types.contains(found) {
            return Err(wrong_type(&types, found));
        }
        let program = compiled.program();
        let program = program.map_err(|error| format!("program instantiation failed: {error}"))?;
        Ok((program, found.clone()))
    }

    fn env(&self, purpose: Purpose) -> Env {
        let mut env = self.env.clone();
        if purpose != Purpose::Message {
            env = env
                .variable("authorizer", Authorization::authorizer_type())
                .variable(
                    "authorizer.requestResource",
                    Authorization::resource_check_type(),
                );
        }
        if matches!(purpose, Purpose::ApplyConfiguration | Purpose::JsonPatch) {
            env = env.patch_types();
        }
        match &self.variables {
            Some(variables) if purpose != Purpose::Condition => env
                .variable("variables", Type::object(VARIABLES))
                .object(VARIABLES, variables.iter().cloned()),
            _ => env,
        }
    }
}

fn wrong_type(expected: &[Type], found: &Type) -> String {
    let found = found.declared_name();
    match expected {
        [type_] => format!("must evaluate to {} but got {found}", type_.declared_name()),
        several => {
            let names: Vec<_> = several.iter().map(Type::declared_name).collect();
            let names = names.join(" ");
            format!("must evaluate to one of [{names}] but got {found}")
        }
    }
}

/// What all expressions of a policy can refer to.
fn environment(spec: &Value) -> Env {
    let mut env = Env::new()
        .variable("object", Type::Dyn)
        .variable("oldObject", Type::Dyn)
        .variable("request", Type::object("kubernetes.AdmissionRequest"))
        .variable("namespaceObject", Type::object("kubernetes.Namespace"));
    if spec["paramKind"].is_object() {
        env = env.variable("params", Type::Dyn);
    }
    for (name, fields) in objects() {
        let fields = fields.into_iter();
        env = env.object(name, fields.map(|(field, type_)| (field.to_owned(), type_)));
    }
    env
}

/// A type with its fields.
type Object = (&'static str, Vec<(&'static str, Type)>);

/// The types of `request` and `namespaceObject`.
fn objects() -> impl Iterator<Item = Object> {
    request_objects().into_iter().chain(namespace_objects())
}

fn request_objects() -> Vec<Object> {
    use Type::{Bool, Dyn, String};
    let strings = || Type::list(String);
    let gvk = || Type::object("kubernetes.GroupVersionKind");
    let gvr = || Type::object("kubernetes.GroupVersionResource");
    let text = |name| (name, String);
    vec![
        (
            "kubernetes.GroupVersionKind",
            ["group", "version", "kind"].map(text).into(),
        ),
        (
            "kubernetes.GroupVersionResource",
            ["group", "version", "resource"].map(text).into(),
        ),
        (
            "kubernetes.UserInfo",
            vec![
                ("username", String),
                ("uid", String),
                ("groups", strings()),
                ("extra", Type::map(String, strings())),
            ],
        ),
        (
            "kubernetes.AdmissionRequest",
            vec![
                ("kind", gvk()),
                ("resource", gvr()),
                ("subResource", String),
                ("requestKind", gvk()),
                ("requestResource", gvr()),
                ("requestSubResource", String),
                ("name", String),
                ("namespace", String),
                ("operation", String),
                ("userInfo", Type::object("kubernetes.UserInfo")),
                ("dryRun", Bool),
                ("options", Dyn),
            ],
        ),
    ]
}

fn namespace_objects() -> Vec<Object> {
    use Type::{Int, String, Timestamp};
    let strings = || Type::list(String);
    let labels = || Type::map(String, String);
    let conditions = Type::list(Type::object("kubernetes.NamespaceCondition"));
    vec![
        (
            "kubernetes.Namespace",
            vec![
                ("metadata", Type::object("kubernetes.NamespaceMetadata")),
                ("spec", Type::object("kubernetes.NamespaceSpec")),
                ("status", Type::object("kubernetes.NamespaceStatus")),
            ],
        ),
        (
            "kubernetes.NamespaceMetadata",
            vec![
                ("name", String),
                ("generateName", String),
                ("namespace", String),
                ("labels", labels()),
                ("annotations", labels()),
                ("UID", String),
                ("creationTimestamp", Timestamp),
                ("deletionGracePeriodSeconds", Int),
                ("deletionTimestamp", Timestamp),
                ("generation", Int),
                ("resourceVersion", String),
                ("finalizers", strings()),
            ],
        ),
        ("kubernetes.NamespaceSpec", vec![("finalizers", strings())]),
        (
            "kubernetes.NamespaceStatus",
            vec![("conditions", conditions), ("phase", String)],
        ),
        (
            "kubernetes.NamespaceCondition",
            vec![
                ("status", String),
                ("type", String),
                ("lastTransitionTime", Timestamp),
                ("message", String),
                ("reason", String),
            ],
        ),
    ]
}
