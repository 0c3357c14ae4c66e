//! What a user is told who may not do something.

use super::Status;
use super::field::quote;
use crate::GroupResource;

/// A request as authorization sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes<'a> {
    pub user: &'a str,
    pub verb: &'a str,
    pub group: &'a str,
    /// Empty if the request is for a path.
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// Of a request for no resource.
    pub path: &'a str,
}

impl Status {
    /// The answer when authorization says no. `reason` is the authorizer's own and mostly empty.
    pub fn not_allowed(attributes: &Attributes<'_>, reason: &str) -> Self {
        let mut message = sanitized(&attributes.sentence());
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
    pub fn sentence(&self) -> String {
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

/// Makes sure that the sentence is no HTML.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
