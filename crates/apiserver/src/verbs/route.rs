//! Routes a request for a resource to a kind and a verb.

use std::sync::Arc;

use http::Method;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::{Kind, Kinds};

use crate::request::{Query, RequestInfo};

/// The kind and the verb of a request.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) kind: Arc<Kind>,
    pub(crate) verb: &'static str,
}

/// The route of a request; none if nothing is served at its path.
pub(crate) fn route(
    kinds: &Kinds,
    info: &RequestInfo<'_>,
    method: &Method,
    query: &Query<'_>,
) -> Result<Option<Route>, Status> {
    let Some(kind) = kinds.resource(&info.group, &info.version, &info.resource) else {
        return Ok(None);
    };
    let namespace = info.object_namespace();
    let is_wrong_scope = if kind.namespaced {
        namespace.is_empty() && !info.name.is_empty()
    } else {
        !namespace.is_empty()
    };
    if is_wrong_scope || (info.has_rest && info.subresource != "proxy") {
        return Ok(None);
    }
    check_name(&info.name)?;
    let verb = info.verb(method, query.flag("watch"));
    if info.subresource.is_empty() {
        check_verb(kind, verb, info)?;
    } else {
        let Some(subresource) = kind.subresource(&info.subresource) else {
            if kind.custom.is_some() && matches!(&*info.subresource, "status" | "scale") {
                return Err(Status::not_found(kind.group_resource(), &info.name));
            }
            return Ok(None);
        };
        if !subresource.verbs.contains(&verb) {
            return Err(Status::method_not_allowed());
        }
    }
    Ok(Some(Route {
        kind: Arc::clone(kind),
        verb,
    }))
}

/// A name must be one path segment.
fn check_name(name: &str) -> Result<(), Status> {
    let mut errors: Vec<String> = Vec::new();
    if matches!(name, "." | "..") {
        errors.push(format!("may not be '{name}'"));
    }
    for c in ['/', '%'].into_iter().filter(|c| name.contains(*c)) {
        errors.push(format!("may not contain '{c}'"));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let quoted = outrigger_apimachinery::status::field::quote(name);
    let errors = errors.join("; ");
    Err(Status::bad_request(format!(
        "Name parameter invalid: {quoted}: {errors}"
    )))
}

/// Whether the main resource supports a verb.
fn check_verb(kind: &Kind, verb: &str, info: &RequestInfo<'_>) -> Result<(), Status> {
    let is_named = !info.name.is_empty();
    let all_namespaces = kind.namespaced && info.object_namespace().is_empty();
    let fits_path = match verb {
        "create" => !is_named && !all_namespaces,
        "deletecollection" => !all_namespaces,
        "update" | "patch" => is_named,
        _ => true,
    };
    let custom = kind.custom.as_ref();
    if verb == "create" && custom.is_some_and(|custom| custom.terminating) {
        return Err(terminating(kind));
    }
    // While a definition is being deleted, its objects can still be changed, so that finalizers can be removed.
    let is_served = kind.has_verb(verb) || (custom.is_some() && !verb.is_empty());
    if !fits_path || !is_served {
        return Err(Status::method_not_allowed());
    }
    Ok(())
}

fn terminating(kind: &Kind) -> Status {
    let mut status = Status::method_not_supported(kind.group_resource(), "create");
    "create not allowed while custom resource definition is terminating"
        .clone_into(&mut status.message);
    status
}
