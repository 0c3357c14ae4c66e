//! The message of a request that the authorizer denies.

use super::Status;
use super::field::quote;
use crate::GroupResource;

/// The attributes of a request that authorization considers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes<'a> {
    pub user: &'a str,
    pub verb: &'a str,
    pub group: &'a str,
    /// Empty for a non-resource request.
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// The path of a non-resource request.
    pub path: &'a str,
}

impl Status {
    /// The authorizer denied the request. Its `reason` is usually empty.
    pub fn denied(attributes: &Attributes<'_>, reason: &str) -> Self {
        let mut message = sanitize(&attributes.forbidden_message());
        if !reason.is_empty() {
            message.push_str(": ");
            message.push_str(reason);
        }
        let resource = GroupResource::new(attributes.group, attributes.resource);
        Self::forbidden(resource, attributes.name, message)
    }
}

impl Attributes<'_> {
    /// `User "u" cannot get resource "pods" in API group "" in the namespace "n"`.
    pub fn forbidden_message(&self) -> String {
        let user = quote(self.user);
        let verb = self.verb;
        if self.resource.is_empty() {
            return format!("User {user} cannot {verb} path {}", quote(self.path));
        }
        let resource = match self.subresource {
            "" => quote(self.resource),
            subresource => quote(&format!("{}/{subresource}", self.resource)),
        };
        let group = quote(self.group);
        let scope = match self.namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {}", quote(namespace)),
        };
        format!("User {user} cannot {verb} resource {resource} in API group {group} {scope}")
    }
}

/// Escapes HTML, as kube-apiserver does.
fn sanitize(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
