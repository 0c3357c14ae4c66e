//! `ValidatingAdmissionPolicy`: rejects a request that a policy denies, or warns about it.

use outrigger_apimachinery::status::{Cause, Reason, Status};
use outrigger_builtin::admissionregistration::expression::{Compiler, Purpose};
use outrigger_builtin::fields::{list, text, texts};
use outrigger_cel::Value as Cel;
use serde_json::Value;

use super::expression::{Expression, Failure, Preamble, Scope};
use super::{BoundPolicy, OWN_GROUP, Request, RequestInfo, ignores_failures, matching, params};
use crate::{Attributes, ClusterState};

const MAX_MESSAGE: usize = 5 * 1024;

/// A policy whose expressions are compiled.
#[derive(Debug)]
pub struct ValidatingPolicy {
    name: String,
    spec: Value,
    preamble: Preamble,
    validations: Vec<Validation>,
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: Reason,
}

/// Why a policy denies a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Denial {
    message: String,
    reason: Reason,
}

impl From<Failure> for Denial {
    fn from(failure: Failure) -> Self {
        Self {
            message: failure.0,
            reason: Reason::Invalid,
        }
    }
}

/// Rejects a request that a policy denies. Returns the warnings of others.
pub(crate) fn validate(
    attributes: &Attributes<'_>,
    object: &Value,
    cluster: &dyn ClusterState,
) -> Result<Vec<String>, Status> {
    if attributes.kind.group == OWN_GROUP {
        return Ok(Vec::new());
    }
    let policies = cluster.validating_policies();
    if policies.is_empty() {
        return Ok(Vec::new());
    }
    let info = RequestInfo::new(attributes, object, cluster);
    let request = Request::new(attributes, object, &info);
    let mut warnings = Vec::new();
    for BoundPolicy { policy, bindings } in &policies {
        if !matching::matches(&policy.spec["matchConstraints"], &request) {
            continue;
        }
        for binding in bindings {
            if !matching::matches(&binding["spec"]["matchResources"], &request) {
                continue;
            }
            let denials = policy.denials(binding, &request, cluster);
            let actions = list(&binding["spec"], "validationActions");
            for denial in denials {
                let names = (policy.name.as_str(), text(&binding["metadata"], "name"));
                if texts(actions).any(|action| action == "Warn") {
                    warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        names.0, names.1, denial.message
                    ));
                }
                if texts(actions).any(|action| action == "Deny") {
                    return Err(denied(&request, names, &denial));
                }
            }
        }
    }
    Ok(warnings)
}

fn denied(request: &Request<'_>, (policy, binding): (&str, &str), denial: &Denial) -> Status {
    let message = format!(
        "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {}",
        denial.message
    );
    let mut status = request.attributes.forbidden(request.name(), &message);
    status.reason = Some(denial.reason);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            message,
            ..Cause::default()
        });
    }
    status
}

impl ValidatingPolicy {
    pub fn compile(policy: &Value) -> Self {
        let spec = &policy["spec"];
        let mut compiler = Compiler::validating(spec);
        let preamble = Preamble::compile(spec, &mut compiler);
        let compile = |text: &str, purpose| Expression::new(text, &compiler, purpose);
        let validations = list(spec, "validations").iter();
        Self {
            name: text(&policy["metadata"], "name").to_owned(),
            validations: validations
                .map(|validation| Validation {
                    expression: compile(text(validation, "expression"), Purpose::Validation),
                    message: text(validation, "message").trim().to_owned(),
                    message_expression: validation["messageExpression"]
                        .as_str()
                        .map(|text| compile(text, Purpose::Message)),
                    reason: reason(text(validation, "reason")),
                })
                .collect(),
            preamble,
            spec: spec.clone(),
        }
    }

    /// The denials for all parameters of a binding.
    fn denials(
        &self,
        binding: &Value,
        request: &Request<'_>,
        cluster: &dyn ClusterState,
    ) -> Vec<Denial> {
        let namespace = request.attributes.namespace;
        let params = match params::collect(&self.spec, binding, namespace, cluster) {
            Ok(params) => params,
            Err(why) => {
                let why = Failure(format!("failed to configure binding: {why}"));
                return self.unless_ignored(why).into_iter().collect();
            }
        };
        let denials = params.iter().flat_map(|params| {
            let evaluate = |scope: &Scope<'_>| self.evaluate(scope);
            match self.preamble.evaluate(request, params, evaluate) {
                Ok(denials) => denials,
                Err(why) => self.unless_ignored(why).into_iter().collect(),
            }
        });
        denials.collect()
    }

    fn unless_ignored(&self, failure: Failure) -> Option<Denial> {
        (!ignores_failures(&self.spec)).then(|| failure.into())
    }

    /// The validations that a request does not satisfy.
    fn evaluate(&self, scope: &Scope<'_>) -> Result<Vec<Denial>, Failure> {
        if !self.preamble.matches(scope)? {
            return Ok(Vec::new());
        }
        let validations = self.validations.iter();
        let denials =
            validations.filter_map(|validation| match scope.run(&validation.expression) {
                Ok(Cel::Bool(true)) => None,
                Ok(_) => Some(Denial {
                    message: self.message(validation, scope),
                    reason: validation.reason,
                }),
                Err(why) => self.unless_ignored(why),
            });
        Ok(denials.collect())
    }

    /// The message expression, the message, or the expression itself.
    fn message(&self, validation: &Validation, scope: &Scope<'_>) -> String {
        let computed = validation.message_expression.as_ref();
        let computed = computed.and_then(|expression| self.preamble.message(expression, scope));
        if let Some(text) = computed.as_deref().map(str::trim)
            && !text.is_empty()
            && text.len() <= MAX_MESSAGE
            && !text.contains('\n')
        {
            return text.to_owned();
        }
        if validation.message.is_empty() {
            return format!("failed expression: {}", validation.expression.text.trim());
        }
        validation.message.clone()
    }
}

fn reason(text: &str) -> Reason {
    match text {
        "Unauthorized" => Reason::Unauthorized,
        "Forbidden" => Reason::Forbidden,
        "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
        _ => Reason::Invalid,
    }
}
