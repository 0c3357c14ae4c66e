//! Access to the parameters of admission policies: who writes a policy or a binding must be allowed to read what its
//! expressions can read, and could otherwise reveal.

use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::field::Error;
use outrigger_builtin::fields::text;
use serde_json::Value;

use crate::auth::{Attributes, Target, UserInfo};
use crate::server::Lookup;
use crate::verbs::request_context::RequestContext;

const GROUP: &str = "admissionregistration.k8s.io";

/// Checks a policy or a binding that is well-formed. Other kinds pass.
pub(super) fn check(ctx: &RequestContext<'_>, new: &Value, old: Option<&Value>) -> Option<Error> {
    if ctx.kind.group != GROUP || ctx.user.is_privileged() {
        return None;
    }
    let unchanged = |fields: &[&str]| {
        let is_same =
            |field: &&str| old.is_some_and(|old| old["spec"][field] == new["spec"][field]);
        fields.iter().all(is_same)
    };
    let spec = &new["spec"];
    match ctx.kind.plural.as_str() {
        "validatingadmissionpolicies" | "mutatingadmissionpolicies"
            if !spec["paramKind"].is_null() && !unchanged(&["paramKind"]) =>
        {
            let detail = policy(ctx, &spec["paramKind"])?;
            Some(Error::forbidden("spec.paramKind", detail))
        }
        "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings"
            if !spec["paramRef"].is_null() && !unchanged(&["paramRef", "policyName"]) =>
        {
            let policies = ctx.kind.plural.replace("policybindings", "policies");
            let detail = binding(ctx, spec, &policies)?;
            Some(Error::forbidden("spec.paramRef", detail))
        }
        _ => None,
    }
}

/// A policy may be bound to any object of its kind of parameters.
fn policy(ctx: &RequestContext<'_>, kind: &Value) -> Option<String> {
    let resource = resolve(ctx, kind);
    if is_allowed(ctx, "get", &resource, "*", "*") {
        return None;
    }
    Some(format!(
        r#"user {} must have "get" permission on all objects of the referenced paramKind (kind={}, apiVersion={})"#,
        go_format(ctx.user),
        text(kind, "kind"),
        text(kind, "apiVersion"),
    ))
}

fn binding(ctx: &RequestContext<'_>, spec: &Value, policies: &str) -> Option<String> {
    let name = text(spec, "policyName");
    let policy = Lookup(ctx.state).object(GROUP, policies, "", name);
    let kind = policy
        .as_ref()
        .map_or(&Value::Null, |policy| &policy["spec"]["paramKind"]);
    let resource = if kind.is_null() {
        ParamResource::default()
    } else {
        resolve(ctx, kind)
    };
    let reference = &spec["paramRef"];
    let object = text(reference, "name");
    let verb = if object.is_empty() { "list" } else { "get" };
    if is_allowed(ctx, verb, &resource, text(reference, "namespace"), object) {
        return None;
    }
    let user = go_format(ctx.user);
    let all = format!(
        r#"to determine minimum required permissions and user {user} does not have "{verb}" permission for all groups, versions and resources"#
    );
    Some(if policy.is_none() {
        format!("unable to get policy {name} {all}")
    } else if !kind.is_null() && resource.resource.is_none() {
        let (version, kind) = (text(kind, "apiVersion"), text(kind, "kind"));
        format!("unable to resolve paramKind &{{{version} {kind}}} {all}")
    } else {
        format!(
            r#"user {user} does not have "{verb}" permission on the object referenced by paramRef"#
        )
    })
}

/// Where the parameters are. What is not known stands for everything.
#[derive(Debug, Default)]
struct ParamResource {
    group: Option<String>,
    version: Option<String>,
    resource: Option<String>,
}

fn resolve(ctx: &RequestContext<'_>, kind: &Value) -> ParamResource {
    let version = GroupVersion::parse(text(kind, "apiVersion"));
    let served = ctx
        .kinds
        .kind(version.group, version.version, text(kind, "kind"));
    ParamResource {
        group: Some(version.group.to_owned()),
        version: Some(version.version.to_owned()),
        resource: served.map(|kind| kind.plural.clone()),
    }
}

fn is_allowed(
    ctx: &RequestContext<'_>,
    verb: &str,
    resource: &ParamResource,
    namespace: &str,
    name: &str,
) -> bool {
    let target = Target::Resource {
        group: resource.group.as_deref().unwrap_or("*"),
        version: resource.version.as_deref().unwrap_or("*"),
        resource: resource.resource.as_deref().unwrap_or("*"),
        subresource: "",
        namespace,
        name,
    };
    let attributes = Attributes { verb, target };
    ctx.state.auth.authorize(ctx.user, &attributes).is_ok()
}

/// The user as Go prints a pointer to a struct.
fn go_format(user: &UserInfo) -> String {
    let extra = user.extra.iter();
    let extra: Vec<String> = extra
        .map(|(key, values)| format!("{key}:[{}]", values.join(" ")))
        .collect();
    format!(
        "&{{{} {} [{}] map[{}]}}",
        user.name,
        user.uid,
        user.groups.join(" "),
        extra.join(" ")
    )
}
