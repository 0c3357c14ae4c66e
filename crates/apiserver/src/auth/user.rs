//! Users, and the attributes of their requests.

use std::collections::BTreeMap;

use outrigger_apimachinery::status::authorization;

/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of all unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Members are authorized for everything, without RBAC.
pub const MASTERS: &str = "system:masters";
pub const ANONYMOUS: &str = "system:anonymous";

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The user that a request acts for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInfo {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    /// The server itself: its controllers and callers in the same process.
    pub fn internal() -> Self {
        Self {
            name: "system:apiserver".to_owned(),
            groups: vec![AUTHENTICATED.to_owned(), MASTERS.to_owned()],
            ..Self::default()
        }
    }

    /// A request without credentials.
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// A service account with its groups.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut groups = service_account_groups(namespace);
        groups.push(AUTHENTICATED.to_owned());
        Self {
            name: service_account_name(namespace, name),
            uid: uid.to_owned(),
            groups,
            extra: BTreeMap::new(),
        }
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|candidate| candidate == group)
    }

    /// Whether authorization is skipped.
    pub fn is_privileged(&self) -> bool {
        self.is_in(MASTERS)
    }
}

/// `system:serviceaccount:NAMESPACE:NAME`.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT}{namespace}:{name}")
}

pub(super) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// Namespace and name of a service account, if the user is one.
pub(super) fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let is_valid = |text: &str| !text.is_empty() && text.bytes().all(is_name_byte);
    (is_valid(namespace) && !namespace.contains('.') && is_valid(name)).then_some((namespace, name))
}

/// The node name of a node user.
pub(super) fn split_node(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    (!name.is_empty() && name.bytes().all(is_name_byte)).then_some(name)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}

/// The attributes of a request for authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a> {
    pub verb: &'a str,
    pub target: Target<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// Missing parts are empty.
    Resource {
        group: &'a str,
        version: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    /// A non-resource path.
    Path(&'a str),
}

impl<'a> Attributes<'a> {
    /// Empty for requests that are not namespaced.
    pub fn namespace(&self) -> &'a str {
        match self.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path(_) => "",
        }
    }

    /// The attributes for the message of a `Forbidden` error.
    pub(super) fn for_message(&self, user: &'a str) -> authorization::Attributes<'a> {
        let verb = self.verb;
        match self.target {
            Target::Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
                ..
            } => authorization::Attributes {
                user,
                verb,
                group,
                resource,
                subresource,
                namespace,
                name,
                path: "",
            },
            Target::Path(path) => authorization::Attributes {
                user,
                verb,
                path,
                ..authorization::Attributes::default()
            },
        }
    }
}
