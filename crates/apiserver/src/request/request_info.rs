//! Request info: the resource, object and subresource that a path names, after kube-apiserver's `RequestInfo`.

use std::borrow::Cow;

use http::Method;

use outrigger_builtin::selector::FieldSelector;

use super::query::{Query, percent_decoded};
use crate::auth::{Attributes, Target};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Endpoint<'p> {
    Resource(RequestInfo<'p>),
    /// Discovery, health, version and the like.
    NonResource(&'p str),
}

/// The parts of the path of a resource; missing parts are empty.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct RequestInfo<'p> {
    pub(crate) group: Cow<'p, str>,
    pub(crate) version: Cow<'p, str>,
    pub(crate) resource: Cow<'p, str>,
    pub(crate) namespace: Cow<'p, str>,
    pub(crate) name: Cow<'p, str>,
    pub(crate) subresource: Cow<'p, str>,
    /// The name that the field selector requires.
    pub(crate) selected_name: Cow<'p, str>,
    /// The path has more segments than the API defines.
    pub(crate) has_rest: bool,
    /// The deprecated form with `/watch/` in the path.
    pub(crate) is_watch: bool,
}

impl<'p> Endpoint<'p> {
    pub(crate) fn parse(path: &'p str) -> Self {
        RequestInfo::parse(path).map_or(Self::NonResource(path), Self::Resource)
    }

    /// Takes the name that a field selector requires from the query.
    pub(crate) fn with_query(mut self, query: &Query<'_>) -> Self {
        if let Self::Resource(info) = &mut self
            && !info.is_watch
            && let Some(name) = FieldSelector::required_name(query.text("fieldSelector"))
        {
            info.selected_name = name.into();
        }
        self
    }
}

impl<'p> RequestInfo<'p> {
    fn parse(path: &'p str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/').map(percent_decoded);
        let mut info = Self::default();
        match parts.next()?.as_ref() {
            "api" => {}
            "apis" => info.group = parts.next().filter(|group| !group.is_empty())?,
            _ => return None,
        }
        info.version = parts.next()?;
        let mut part = parts.next().filter(|part| !part.is_empty())?;
        if part == "watch" {
            info.is_watch = true;
            part = parts.next().filter(|part| !part.is_empty())?;
        }
        if part == "namespaces" {
            match parts.next() {
                None => info.resource = part,
                Some(namespace) => {
                    info.namespace = namespace;
                    match parts.next() {
                        // The namespace itself, which authorization treats as an object in itself.
                        None => info.name_namespace(part),
                        Some(sub) if matches!(&*sub, "status" | "finalize") => {
                            info.name_namespace(part);
                            info.subresource = sub;
                        }
                        Some(resource) => info.resource = resource,
                    }
                    if info.name.is_empty() {
                        info.name = parts.next().unwrap_or_default();
                        info.subresource = parts.next().unwrap_or_default();
                    }
                }
            }
        } else {
            info.resource = part;
            info.name = parts.next().unwrap_or_default();
            info.subresource = parts.next().unwrap_or_default();
        }
        info.has_rest = parts.next().is_some();
        Some(info)
    }

    fn name_namespace(&mut self, resource: Cow<'p, str>) {
        self.resource = resource;
        self.name = self.namespace.clone();
    }

    /// The namespace of the objects: none for namespaces themselves.
    pub(crate) fn object_namespace(&self) -> &str {
        if self.group.is_empty() && self.resource == "namespaces" {
            ""
        } else {
            &self.namespace
        }
    }

    /// The verb of the request, as authorization names it.
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

    /// The attributes for authorization. A list or a watch of one name is a request for that name.
    pub(crate) fn attributes<'a>(&'a self, verb: &'a str) -> Attributes<'a> {
        let name = match verb {
            "list" | "watch" if self.name.is_empty() => &self.selected_name,
            _ => &self.name,
        };
        Attributes {
            verb,
            target: Target::Resource {
                group: &self.group,
                version: &self.version,
                resource: &self.resource,
                subresource: &self.subresource,
                namespace: &self.namespace,
                name,
            },
        }
    }
}
