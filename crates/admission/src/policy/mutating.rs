//! `MutatingAdmissionPolicy`: changes objects before they are validated.
//!
//! If a policy changes the object, all mutating plugins run once more, among the policies those with
//! `reinvocationPolicy: IfNeeded`.

use std::collections::BTreeSet;
use std::sync::Arc;

use outrigger_apimachinery::status::{Cause, Reason, Status};
use outrigger_builtin::admissionregistration::expression::{Compiler, Purpose};
use outrigger_builtin::fields::{list, text};
use serde_json::Value;

use super::expression::{Expression, Failure, Preamble, Scope};
use super::patch::{Mutation, decode};
use super::{BoundPolicy, OWN_GROUP, Request, RequestInfo, ignores_failures, matching, params};
use crate::{Attributes, ClusterState, Operation};

/// A policy whose expressions are compiled.
#[derive(Debug)]
pub struct MutatingPolicy {
    name: String,
    spec: Value,
    preamble: Preamble,
    mutations: Vec<Mutation>,
}

impl MutatingPolicy {
    pub fn compile(policy: &Value) -> Self {
        let spec = &policy["spec"];
        let mut compiler = Compiler::mutating(spec);
        let preamble = Preamble::compile(spec, &mut compiler);
        let mutations = list(spec, "mutations").iter();
        let mutations = mutations.map(|mutation| {
            let compile = |field: &str, purpose| {
                let source = text(&mutation[field], "expression");
                Expression::new(source.trim(), &compiler, purpose)
            };
            match text(mutation, "patchType") {
                "JSONPatch" => Mutation::JsonPatch(compile("jsonPatch", Purpose::JsonPatch)),
                _ => Mutation::Apply(compile("applyConfiguration", Purpose::ApplyConfiguration)),
            }
        });
        Self {
            name: text(&policy["metadata"], "name").to_owned(),
            mutations: mutations.collect(),
            preamble,
            spec: spec.clone(),
        }
    }

    fn is_reinvoked(&self) -> bool {
        text(&self.spec, "reinvocationPolicy") == "IfNeeded"
    }
}

/// A policy with a binding and its parameters.
struct Invocation {
    policy: Arc<MutatingPolicy>,
    binding: String,
    params: Value,
}

/// Identifies an invocation: the names of policy and binding, and the namespace and name of the parameters.
pub(crate) type InvocationKey = (String, String, String, String);

impl Invocation {
    fn key(&self) -> InvocationKey {
        let metadata = &self.params["metadata"];
        (
            self.policy.name.clone(),
            self.binding.clone(),
            text(metadata, "namespace").to_owned(),
            text(metadata, "name").to_owned(),
        )
    }

    fn error(&self, failure: &Failure) -> Option<String> {
        let message = denial(&self.policy.name, &self.binding, &failure.0);
        (!ignores_failures(&self.policy.spec)).then_some(message)
    }
}

fn denial(policy: &str, binding: &str, why: &str) -> String {
    format!("policy '{policy}' with binding '{binding}' denied request: {why}")
}

/// Which policies run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pass<'a> {
    First,
    /// After the object has changed: those that asked for it.
    Reinvocation(&'a BTreeSet<InvocationKey>),
}

/// Runs the policies that match a request. Returns the invocations to repeat, if a policy has changed the object.
pub(crate) fn mutate(
    attributes: &Attributes<'_>,
    object: &mut Value,
    cluster: &dyn ClusterState,
    pass: Pass<'_>,
) -> Result<Option<BTreeSet<InvocationKey>>, Status> {
    let is_deletion = matches!(attributes.operation, Operation::Delete);
    if is_deletion || attributes.kind.group == OWN_GROUP {
        return Ok(None);
    }
    let policies = cluster.mutating_policies();
    if policies.is_empty() {
        return Ok(None);
    }
    let info = RequestInfo::new(attributes, object, cluster);
    let request = Request::new(attributes, object, &info);
    let (invocations, mut errors) = invocations(&policies, &request, cluster);
    let mut again = BTreeSet::new();
    let mut is_changed = false;
    for invocation in &invocations {
        let key = invocation.key();
        if matches!(pass, Pass::Reinvocation(keys) if !keys.contains(&key)) {
            continue;
        }
        let request = Request::new(attributes, object, &info);
        match invocation.matches(&request) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(failure) => {
                errors.extend(invocation.error(&failure));
                continue;
            }
        }
        for mutation in &invocation.policy.mutations {
            let request = Request::new(attributes, object, &info);
            match invocation.mutated(mutation, &request, cluster) {
                Ok(mutated) => {
                    is_changed = true;
                    *object = mutated;
                }
                Err(failure) => errors.extend(invocation.error(&failure)),
            }
        }
        if invocation.policy.is_reinvoked() {
            again.insert(key);
        }
    }
    if let Some(first) = errors.first() {
        let name = text(&info.value, "name");
        return Err(rejected(attributes, name, first, &errors));
    }
    Ok(is_changed.then_some(again))
}

/// The policies that match a request with their parameters, and the errors of those that cannot be invoked.
fn invocations(
    policies: &[BoundPolicy<MutatingPolicy>],
    request: &Request<'_>,
    cluster: &dyn ClusterState,
) -> (Vec<Invocation>, Vec<String>) {
    let (mut invocations, mut errors) = (Vec::new(), Vec::new());
    for BoundPolicy { policy, bindings } in policies {
        if !matching::matches(&policy.spec["matchConstraints"], request) {
            continue;
        }
        for binding in bindings {
            if !matching::matches(&binding["spec"]["matchResources"], request) {
                continue;
            }
            let name = text(&binding["metadata"], "name");
            let namespace = request.attributes.namespace;
            match params::collect(&policy.spec, binding, namespace, cluster) {
                Ok(params) => invocations.extend(params.into_iter().map(|params| Invocation {
                    policy: Arc::clone(policy),
                    binding: name.to_owned(),
                    params,
                })),
                Err(_) if ignores_failures(&policy.spec) => {}
                Err(why) => {
                    let why = format!("failed to configure binding: {why}");
                    errors.push(denial(&policy.name, name, &why));
                }
            }
        }
    }
    (invocations, errors)
}

impl Invocation {
    fn matches(&self, request: &Request<'_>) -> Result<bool, Failure> {
        let preamble = &self.policy.preamble;
        preamble.evaluate(request, &self.params, |scope| preamble.matches(scope))
    }

    /// The object after a mutation, with defaults. Each mutation has its own budget.
    fn mutated(
        &self,
        mutation: &Mutation,
        request: &Request<'_>,
        cluster: &dyn ClusterState,
    ) -> Result<Value, Failure> {
        let kind = request.attributes.kind;
        let schema = cluster.schema(kind);
        let patch = |scope: &Scope<'_>| mutation.patch(scope, request.object, &schema);
        let preamble = &self.policy.preamble;
        let patched = preamble.evaluate(request, &self.params, patch)?;
        decode(kind, patched, &schema)
    }
}

/// The first error is the message, all are causes.
fn rejected(attributes: &Attributes<'_>, name: &str, first: &str, errors: &[String]) -> Status {
    let mut status = attributes.forbidden(name, "");
    first.clone_into(&mut status.message);
    status.reason = Some(Reason::InvalidByPolicy);
    if let Some(details) = &mut status.details {
        let causes = errors.iter().map(|message| Cause {
            message: message.clone(),
            ..Cause::default()
        });
        details.causes.extend(causes);
    }
    status
}
