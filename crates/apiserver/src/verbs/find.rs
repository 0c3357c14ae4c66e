//! Which verb of which kind a request is for, or that there is none.

use std::sync::Arc;

use http::Method;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::{Kind, Kinds};

use crate::request::{Place, Query};

/// What is behind a path.
#[derive(Debug)]
pub(crate) enum Found {
    Verb(Target),
    /// Nothing is served there.
    Nothing,
}

/// A kind and what is to be done.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) kind: Arc<Kind>,
    pub(crate) verb: &'static str,
}

fn terminating(kind: &Kind) -> Status {
    let mut status = Status::method_not_supported(kind.group_resource(), "create");
    "create not allowed while custom resource definition is terminating"
        .clone_into(&mut status.message);
    status
}

/// A name must be one part of a path.
fn check_name(name: &str) -> Result<(), Status> {
    let mut problems: Vec<String> = Vec::new();
    if matches!(name, "." | "..") {
        problems.push(format!("may not be '{name}'"));
    }
    for c in ['/', '%'].into_iter().filter(|c| name.contains(*c)) {
        problems.push(format!("may not contain '{c}'"));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let quoted = outrigger_apimachinery::status::field::quote(name);
    let problems = problems.join("; ");
    Err(Status::bad_request(format!(
        "Name parameter invalid: {quoted}: {problems}"
    )))
}

pub(crate) fn find(
    kinds: &Kinds,
    place: &Place<'_>,
    method: &Method,
    query: &Query<'_>,
) -> Result<Found, Status> {
    let Some(kind) = kinds.resource(&place.group, &place.version, &place.resource) else {
        return Ok(Found::Nothing);
    };
    let namespace = place.object_namespace();
    let is_named = !place.name.is_empty();
    let is_elsewhere = if kind.namespaced {
        namespace.is_empty() && is_named
    } else {
        !namespace.is_empty()
    };
    if is_elsewhere || (place.has_rest && place.subresource != "proxy") {
        return Ok(Found::Nothing);
    }
    check_name(&place.name)?;
    let verb = place.verb(method, query.flag("watch"));
    if place.subresource.is_empty() {
        // Across all namespaces there is only looking.
        let is_across = kind.namespaced && namespace.is_empty();
        let fits = match verb {
            "create" => !is_named && !is_across,
            "deletecollection" => !is_across,
            "update" | "patch" => is_named,
            _ => true,
        };
        if verb == "create"
            && kind
                .custom
                .as_ref()
                .is_some_and(|custom| custom.terminating)
        {
            return Err(terminating(kind));
        }
        // While a definition goes, its objects can still be changed, so that they can go.
        let is_served = kind.has_verb(verb) || (kind.custom.is_some() && !verb.is_empty());
        if !fits || !is_served {
            return Err(Status::method_not_allowed());
        }
    } else {
        let Some(subresource) = kind.subresource(&place.subresource) else {
            if kind.custom.is_some() && matches!(&*place.subresource, "status" | "scale") {
                return Err(Status::not_found(kind.group_resource(), &place.name));
            }
            return Ok(Found::Nothing);
        };
        if !subresource.verbs.contains(&verb) {
            return Err(Status::method_not_allowed());
        }
    }
    Ok(Found::Verb(Target {
        kind: Arc::clone(kind),
        verb,
    }))
}
