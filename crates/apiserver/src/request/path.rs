//! Where a request goes: a resource, an object, an endpoint below it, or a document of the server.

use std::borrow::Cow;

use http::Method;

use super::query::percent_decoded;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Endpoint<'p> {
    /// Objects of some resource.
    Resource(Place<'p>),
    /// Anything else: discovery, health, version.
    Document(&'p str),
}

/// A resource, and what of it. Missing parts are empty.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Place<'p> {
    pub(crate) group: Cow<'p, str>,
    pub(crate) version: Cow<'p, str>,
    pub(crate) resource: Cow<'p, str>,
    pub(crate) namespace: Cow<'p, str>,
    pub(crate) name: Cow<'p, str>,
    pub(crate) subresource: Cow<'p, str>,
    /// The path has more parts than the API has.
    pub(crate) has_rest: bool,
    /// The deprecated form with `/watch/` in the path.
    pub(crate) is_watch: bool,
}

impl<'p> Endpoint<'p> {
    pub(crate) fn parse(path: &'p str) -> Self {
        Place::parse(path).map_or(Self::Document(path), Self::Resource)
    }
}

impl<'p> Place<'p> {
    fn parse(path: &'p str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/').map(percent_decoded);
        let mut place = Self::default();
        match parts.next()?.as_ref() {
            "api" => {}
            "apis" => place.group = parts.next().filter(|group| !group.is_empty())?,
            _ => return None,
        }
        place.version = parts.next()?;
        let mut part = parts.next().filter(|part| !part.is_empty())?;
        if part == "watch" {
            place.is_watch = true;
            part = parts.next().filter(|part| !part.is_empty())?;
        }
        if part == "namespaces" {
            match parts.next() {
                None => place.resource = part,
                Some(namespace) => {
                    place.namespace = namespace;
                    match parts.next() {
                        // The namespace itself. It lies in itself as far as rights go.
                        None => place.name_namespace(part),
                        Some(sub) if matches!(&*sub, "status" | "finalize") => {
                            place.name_namespace(part);
                            place.subresource = sub;
                        }
                        Some(resource) => place.resource = resource,
                    }
                    if place.name.is_empty() {
                        place.name = parts.next().unwrap_or_default();
                        place.subresource = parts.next().unwrap_or_default();
                    }
                }
            }
        } else {
            place.resource = part;
            place.name = parts.next().unwrap_or_default();
            place.subresource = parts.next().unwrap_or_default();
        }
        place.has_rest = parts.next().is_some();
        Some(place)
    }

    fn name_namespace(&mut self, resource: Cow<'p, str>) {
        self.resource = resource;
        self.name = self.namespace.clone();
    }

    /// The namespace in which objects are looked for: none for namespaces themselves.
    pub(crate) fn object_namespace(&self) -> &str {
        if self.group.is_empty() && self.resource == "namespaces" {
            ""
        } else {
            &self.namespace
        }
    }

    /// What the request does, in the words of authorization.
    pub(crate) fn verb(&self, method: &Method, watches: bool) -> &'static str {
        let is_collection = self.name.is_empty();
        match *method {
            Method::GET | Method::HEAD if self.is_watch || (is_collection && watches) => "watch",
            Method::GET | Method::HEAD if is_collection => "list",
            Method::GET | Method::HEAD => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if is_collection => "deletecollection",
            Method::DELETE => "delete",
            _ => "",
        }
    }
}
