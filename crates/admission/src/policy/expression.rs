//! The compiled expressions of a policy, and their evaluation within a budget.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use outrigger_builtin::admissionregistration::expression::{Compiler, Purpose};
use outrigger_builtin::fields::{list, text};
use outrigger_cel::{Activation, Error, Limits, Lookup, Map, Program, Value as Cel};
use serde_json::Value;

use super::Request;

/// What the expressions of a policy may cost together.
const BUDGET: u64 = 10_000_000;
/// Each is a frame of the stack.
const MAX_VARIABLES: usize = 128;
/// The stack for values that variables nest in each other.
const STACK: usize = 64 << 20;
/// How much of it is needed at most.
const RED_ZONE: usize = 32 << 20;

#[derive(Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    program: Result<Program, String>,
}

/// Why an expression has no result, in the words of kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure(pub(super) String);

impl Expression {
    pub(super) fn new(text: &str, compiler: &Compiler, purpose: Purpose) -> Self {
        Self {
            text: text.to_owned(),
            program: compiler.compile(text, purpose),
        }
    }

    fn failure(&self, why: &Error) -> Failure {
        let text = &self.text;
        Failure(format!("expression '{text}' resulted in error: {why}"))
    }
}

/// What a request must satisfy for a policy to apply, and the variables of the policy.
#[derive(Debug)]
pub(super) struct Preamble {
    conditions: Vec<Expression>,
    variables: Vec<(String, Expression)>,
}

impl Preamble {
    /// Compiles the preamble of a policy. The compiler then knows its variables.
    pub(super) fn compile(spec: &Value, compiler: &mut Compiler) -> Self {
        let conditions = list(spec, "matchConditions").iter().map(|condition| {
            let source = text(condition, "expression").trim();
            Expression::new(source, compiler, Purpose::Condition)
        });
        let conditions = conditions.collect();
        let variables = list(spec, "variables").iter().map(|variable| {
            let (name, source) = (text(variable, "name"), text(variable, "expression"));
            let expression = Expression {
                text: source.to_owned(),
                program: compiler.variable(name, source),
            };
            (name.to_owned(), expression)
        });
        Self {
            conditions,
            variables: variables.collect(),
        }
    }

    /// Evaluates expressions with the variables of the policy.
    pub(super) fn evaluate<T>(
        &self,
        request: &Request<'_>,
        params: &Value,
        run: impl FnOnce(&Scope<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.variables.len() > MAX_VARIABLES {
            let why = format!("policies have at most {MAX_VARIABLES} variables here");
            return Err(Failure(why));
        }
        let data = Data {
            request,
            params,
            can_authorize: true,
            budget: AtomicU64::new(BUDGET),
        };
        let evaluate = || with_variables(&self.variables, &NoVariables, &data, run);
        if self.variables.is_empty() {
            return evaluate();
        }
        stacker::maybe_grow(RED_ZONE, STACK, evaluate)
    }

    /// Evaluates a message with what is left of the budget. For messages the variables are evaluated again, and cannot check
    /// authorization.
    pub(super) fn message(&self, expression: &Expression, scope: &Scope<'_>) -> Option<String> {
        let left = scope.data.budget.load(Ordering::Relaxed);
        let data = Data {
            can_authorize: false,
            budget: AtomicU64::new(left),
            ..*scope.data
        };
        let message = with_variables(&self.variables, &NoVariables, &data, |scope| {
            match scope.run(expression)? {
                Cel::String(text) => Ok(Some(text.as_str().to_owned())),
                _ => Ok(None),
            }
        });
        let left = data.budget.load(Ordering::Relaxed);
        scope.data.budget.store(left, Ordering::Relaxed);
        message.ok().flatten()
    }

    /// Whether all conditions are satisfied. One that is not wins over failures of others.
    pub(super) fn matches(&self, scope: &Scope<'_>) -> Result<bool, Failure> {
        let mut failure = None;
        for condition in &self.conditions {
            match scope.run(condition) {
                Ok(Cel::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        failure.map_or(Ok(true), Err)
    }
}

/// Declares the variables one after the other, then evaluates the rest.
fn with_variables<T>(
    left: &[(String, Expression)],
    known: &dyn Lookup,
    data: &Data<'_>,
    run: impl FnOnce(&Scope<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(((name, expression), left)) = left.split_first() else {
        return run(&Scope {
            variables: known,
            data,
        });
    };
    let variable = Variable {
        name,
        expression,
        known,
        data,
        value: OnceLock::new(),
    };
    with_variables(left, &variable, data, run)
}

/// The variables and data that an expression can refer to.
pub(super) struct Scope<'v> {
    variables: &'v dyn Lookup,
    data: &'v Data<'v>,
}

impl<'v> Scope<'v> {
    pub(super) fn run(&self, expression: &Expression) -> Result<Cel<'v>, Failure> {
        self.data
            .run(expression, self.variables)
            .map_err(|why| expression.failure(&why))
    }
}

/// What expressions read beside the variables, and what they may still cost.
struct Data<'a> {
    request: &'a Request<'a>,
    params: &'a Value,
    /// Whether there is an `authorizer`.
    can_authorize: bool,
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
        let request = self.request;
        let mut activation = Activation::new()
            .variable("object", Cel::from_json(request.object))
            .variable("oldObject", Cel::from_json(request.old))
            .variable("request", Cel::from_json(&request.info.value))
            .variable("namespaceObject", Cel::from_json(&request.info.namespace))
            .variable("params", Cel::from_json(self.params))
            .variable("variables", Cel::Map(Map::Lookup(variables)));
        if self.can_authorize {
            let (authorizer, resource) = (&request.info.authorizer, &request.info.resource);
            activation = activation
                .variable("authorizer", Cel::authorizer(authorizer))
                .variable(
                    "authorizer.requestResource",
                    Cel::resource_check(authorizer, resource),
                );
        }
        let left = self.budget.load(Ordering::Relaxed);
        let limits = Limits {
            cost: Limits::PER_CALL.cost.min(left),
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

impl Variable<'_> {
    fn failure(&self, error: Error) -> Error {
        if error.is_cancellation() {
            return error;
        }
        let is_compiled = self.expression.program.is_ok();
        let verb = if is_compiled { "evaluate" } else { "compile" };
        let name = self.name;
        let message = format!("composited variable \"{name}\" fails to {verb}: {error}");
        Error::Function(message.into())
    }
}

impl Lookup for Variable<'_> {
    fn find(&self, field: &str) -> Option<Result<Cel<'_>, Error>> {
        if field != self.name {
            return self.known.find(field);
        }
        let value = self.value.get_or_init(|| {
            let result = self.data.run(self.expression, self.known);
            result.map_err(|error| self.failure(error))
        });
        Some(value.clone())
    }
}

struct NoVariables;

impl Lookup for NoVariables {
    fn find(&self, _: &str) -> Option<Result<Cel<'_>, Error>> {
        None
    }
}
