//! Which verb of which kind a request is for, or that there is none.

use std::sync::Arc;

use http::Method;

use crate::kinds::{Kind, Kinds};
use crate::request::{Place, Query};
use crate::status::Status;

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
        if !fits || !kind.has_verb(verb) {
            return Err(Status::method_not_allowed());
        }
    } else {
        let Some(subresource) = kind.subresource(&place.subresource) else {
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
