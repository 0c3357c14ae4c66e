//! The compiled expressions of a policy.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use outrigger_apimachinery::status::Reason;
use outrigger_cel::{Activation, Env, Error, Limits, Lookup, Map, Program, Type, Value as Cel};
use serde_json::Value;

use super::{Denial, Request};
use crate::fields::{list, text};

/// What the expressions of a policy may cost together.
const BUDGET: u64 = 10_000_000;
const MAX_MESSAGE: usize = 5 * 1024;
/// Each is a frame of the stack.
const MAX_VARIABLES: usize = 128;

/// A `ValidatingAdmissionPolicy` whose expressions are compiled.
#[derive(Debug)]
pub struct Policy {
    pub(super) name: String,
    pub(super) spec: Value,
    conditions: Vec<Expression>,
    variables: Vec<(String, Expression)>,
    validations: Vec<Validation>,
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: Reason,
}

#[derive(Debug)]
struct Expression {
    text: String,
    program: Result<Program, String>,
}

/// The type that an expression must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Any,
    Bool,
    String,
}

/// Why an expression of a policy cannot be used, in the words of kube-apiserver.
pub(crate) fn check_expression(
    text: &str,
    has_params: bool,
    expected: Expected,
) -> Result<(), String> {
    compile(text, &environment(has_params), expected).map(drop)
}

fn environment(has_params: bool) -> Env {
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

fn compile(text: &str, env: &Env, expected: Expected) -> Result<Program, String> {
    let compiled = env
        .compile(text)
        .map_err(|issues| format!("compilation failed: {issues}"))?;
    let (type_, name) = match expected {
        Expected::Any => (Type::Dyn, "dyn"),
        Expected::Bool => (Type::Bool, "bool"),
        Expected::String => (Type::String, "string"),
    };
    let found = compiled.output_type();
    if expected != Expected::Any && *found != type_ && *found != Type::Dyn {
        return Err(format!("must evaluate to {name}"));
    }
    compiled.program().map_err(|error| error.to_string())
}

impl Expression {
    fn new(text: &str, env: &Env, expected: Expected) -> Self {
        Self {
            text: text.to_owned(),
            program: compile(text, env, expected),
        }
    }
}

impl Policy {
    pub fn compile(policy: &Value) -> Self {
        let spec = &policy["spec"];
        let env = environment(spec["paramKind"].is_object());
        let compile = |text: &str, expected| Expression::new(text, &env, expected);
        let conditions = list(spec, "matchConditions").iter();
        let variables = list(spec, "variables").iter();
        let validations = list(spec, "validations").iter();
        Self {
            name: text(&policy["metadata"], "name").to_owned(),
            conditions: conditions
                .map(|condition| compile(text(condition, "expression"), Expected::Bool))
                .collect(),
            variables: variables
                .map(|variable| {
                    let expression = compile(text(variable, "expression"), Expected::Any);
                    (text(variable, "name").to_owned(), expression)
                })
                .collect(),
            validations: validations
                .map(|validation| Validation {
                    expression: compile(text(validation, "expression"), Expected::Bool),
                    message: text(validation, "message").trim().to_owned(),
                    message_expression: validation["messageExpression"]
                        .as_str()
                        .map(|text| compile(text, Expected::String)),
                    reason: reason(text(validation, "reason")),
                })
                .collect(),
            spec: spec.clone(),
        }
    }

    pub(super) fn ignores_failures(&self) -> bool {
        text(&self.spec, "failurePolicy") == "Ignore"
    }

    /// The validations that a request does not satisfy.
    pub(super) fn evaluate(&self, request: &Request<'_>, params: &Value) -> Vec<Denial> {
        let data = Data {
            request,
            params,
            budget: AtomicU64::new(BUDGET),
        };
        if self.variables.len() > MAX_VARIABLES {
            let why = format!("policies have at most {MAX_VARIABLES} variables here");
            return vec![Denial::invalid(why)];
        }
        self.with_variables(&self.variables, &NoVariables, &data)
    }

    /// Declares the variables one after the other, then evaluates the validations.
    fn with_variables(
        &self,
        left: &[(String, Expression)],
        known: &dyn Lookup,
        data: &Data<'_>,
    ) -> Vec<Denial> {
        let Some(((name, expression), left)) = left.split_first() else {
            return self.denials(known, data);
        };
        let variable = Variable {
            name,
            expression,
            known,
            data,
            value: OnceLock::new(),
        };
        self.with_variables(left, &variable, data)
    }

    fn denials(&self, variables: &dyn Lookup, data: &Data<'_>) -> Vec<Denial> {
        let run = |expression: &Expression| data.run(expression, variables);
        let failure = |expression: &Expression, why: &Error| {
            let message = format!("expression '{}' resulted in error: {why}", expression.text);
            (!self.ignores_failures()).then(|| Denial::invalid(message))
        };
        let mut failed = None;
        for condition in &self.conditions {
            match run(condition) {
                Ok(Cel::Bool(true)) => {}
                Ok(_) => return Vec::new(),
                Err(why) => failed = failed.or_else(|| failure(condition, &why)),
            }
        }
        if let Some(denial) = failed {
            return vec![denial];
        }
        let validations = self.validations.iter();
        let denials = validations.filter_map(|validation| match run(&validation.expression) {
            Ok(Cel::Bool(true)) => None,
            Ok(_) => Some(Denial {
                message: message(validation, run),
                reason: validation.reason,
            }),
            Err(why) => failure(&validation.expression, &why),
        });
        denials.collect()
    }
}

/// The message expression, the message, or the expression itself.
fn message<'v>(
    validation: &Validation,
    run: impl Fn(&Expression) -> Result<Cel<'v>, Error>,
) -> String {
    let computed = validation.message_expression.as_ref().map(run);
    if let Some(Ok(Cel::String(text))) = computed {
        let text = text.as_str().trim();
        let is_usable = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
        if is_usable {
            return text.to_owned();
        }
    }
    if validation.message.is_empty() {
        return format!("failed expression: {}", validation.expression.text.trim());
    }
    validation.message.clone()
}

fn reason(text: &str) -> Reason {
    match text {
        "Unauthorized" => Reason::Unauthorized,
        "Forbidden" => Reason::Forbidden,
        "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
        _ => Reason::Invalid,
    }
}

/// What expressions read beside the variables, and what they may still cost.
struct Data<'a> {
    request: &'a Request<'a>,
    params: &'a Value,
    budget: AtomicU64,
}

impl Data<'_> {
    fn run<'v>(
        &'v self,
        expression: &Expression,
        variables: &'v dyn Lookup,
    ) -> Result<Cel<'v>, Error> {
        let program = expression.program.as_ref();
        let program = program.map_err(|why| Error::Function(why.clone().into()))?;
        let activation = Activation::new()
            .variable("object", Cel::from_json(self.request.object))
            .variable("oldObject", Cel::from_json(self.request.old))
            .variable("request", Cel::from_json(&self.request.value))
            .variable("namespaceObject", Cel::from_json(&self.request.namespace))
            .variable("params", Cel::from_json(self.params))
            .variable("variables", Cel::Map(Map::Lookup(variables)));
        let left = self.budget.load(Ordering::Relaxed);
        let limits = Limits {
            cost: Limits::PER_CALL.cost.min(left),
            ..Limits::PER_CALL
        };
        let evaluation = program.evaluate(&activation, limits);
        let left = left.saturating_sub(evaluation.cost);
        self.budget.store(left, Ordering::Relaxed);
        evaluation.result
    }
}

/// A variable, which is evaluated when it is first read and sees those before it.
struct Variable<'a> {
    name: &'a str,
    expression: &'a Expression,
    known: &'a dyn Lookup,
    data: &'a Data<'a>,
    value: OnceLock<Result<Cel<'a>, Error>>,
}

impl Lookup for Variable<'_> {
    fn find(&self, field: &str) -> Option<Result<Cel<'_>, Error>> {
        if field != self.name {
            return self.known.find(field);
        }
        let value = self
            .value
            .get_or_init(|| self.data.run(self.expression, self.known));
        Some(value.clone())
    }
}

struct NoVariables;

impl Lookup for NoVariables {
    fn find(&self, _: &str) -> Option<Result<Cel<'_>, Error>> {
        None
    }
}
