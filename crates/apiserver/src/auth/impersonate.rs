//! Acting as somebody else: the `Impersonate-*` headers and who may use them.
//!
//! There are several ways to be allowed, and they are tried in the order of the real server: to be a node, a service
//! account or a user for one verb (`impersonate-on:MODE:VERB` and `impersonate:MODE`), and at last for all
//! (`impersonate`). What is told is why the first that applied did not allow it.

use std::collections::BTreeMap;

use http::HeaderMap;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::quote;

use super::Auth;
use super::identity::{
    ANONYMOUS, AUTHENTICATED, Attributes, Identity, MASTERS, Target, UNAUTHENTICATED,
    service_account_groups, split_node, split_service_account,
};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// For whom a user may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// Anybody, for anything.
    Legacy,
}

const MODES: [Mode; 5] = [
    Mode::AssociatedNode,
    Mode::ArbitraryNode,
    Mode::ServiceAccount,
    Mode::UserInfo,
    Mode::Legacy,
];

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> String {
        match self {
            Self::Legacy => "impersonate".to_owned(),
            mode => format!("impersonate:{}", mode.name()),
        }
    }

    fn applies(self, who: &Identity, wanted: &Identity) -> bool {
        let only_name =
            wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = split_node(&wanted.name);
        let account = split_service_account(&wanted.name);
        match self {
            Self::AssociatedNode => {
                let own = who.extra.get("authentication.kubernetes.io/node-name");
                let own = own.and_then(|names| match names.as_slice() {
                    [name] => Some(name.as_str()),
                    _ => None,
                });
                only_name
                    && node.is_some()
                    && node == own
                    && split_service_account(&who.name).is_some()
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

impl Auth {
    /// Whether a request asks to act for somebody else.
    pub fn names_another(headers: &HeaderMap) -> bool {
        headers
            .keys()
            .any(|name| name.as_str().starts_with("impersonate-"))
    }

    /// Who the request acts for: `who`, or the user that its headers name if `who` may act as that user.
    pub fn impersonate(
        &self,
        who: Identity,
        headers: &HeaderMap,
        what: &Attributes<'_>,
    ) -> Result<Identity, Status> {
        let Some(wanted) = wanted(headers)? else {
            return Ok(who);
        };
        let mut first = None;
        for mode in MODES {
            if !mode.applies(&who, &wanted) {
                continue;
            }
            match self.check_mode(mode, &who, &wanted, what) {
                Ok(identity) => return Ok(identity),
                Err(status) => {
                    first.get_or_insert(status);
                }
            }
        }
        Err(first.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
    }

    fn check_mode(
        &self,
        mode: Mode,
        who: &Identity,
        wanted: &Identity,
        what: &Attributes<'_>,
    ) -> Result<Identity, Status> {
        if mode != Mode::Legacy {
            let verb = format!("impersonate-on:{}:{}", mode.name(), what.verb);
            self.authorize(
                who,
                &Attributes {
                    verb: &verb,
                    ..*what
                },
            )?;
        }
        let check = Check {
            auth: self,
            who,
            mode,
            verb: mode.verb(),
        };
        let mut actual = wanted.clone();
        check.name(wanted, &mut actual)?;
        if !wanted.uid.is_empty() {
            check.one(AUTHENTICATION, "uids", "", "", &wanted.uid)?;
        }
        check.groups(&wanted.groups)?;
        check.extra(&wanted.extra)?;
        let group = if actual.name == ANONYMOUS {
            UNAUTHENTICATED
        } else {
            AUTHENTICATED
        };
        if !actual.is_in(UNAUTHENTICATED) && !actual.is_in(group) {
            actual.groups.push(group.to_owned());
        }
        Ok(actual)
    }
}

/// The checks of one mode.
struct Check<'a> {
    auth: &'a Auth,
    who: &'a Identity,
    mode: Mode,
    verb: String,
}

impl Check<'_> {
    fn one(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), Status> {
        let target = Target::Resource {
            group,
            version: "v1",
            resource,
            subresource,
            namespace,
            name,
        };
        let verb = &self.verb;
        self.auth.authorize(self.who, &Attributes { verb, target })
    }

    fn refused(&self, resource: &str, name: &str, reason: &str) -> Status {
        let attributes = Attributes {
            verb: &self.verb,
            target: Target::Resource {
                group: self.api_group(),
                version: "v1",
                resource,
                subresource: "",
                namespace: "",
                name,
            },
        };
        Status::denied(&attributes.described(&self.who.name), reason)
    }

    /// Users and groups are in the core group for those who may be anybody.
    fn api_group(&self) -> &'static str {
        match self.mode {
            Mode::Legacy => "",
            _ => AUTHENTICATION,
        }
    }

    fn name(&self, wanted: &Identity, actual: &mut Identity) -> Result<(), Status> {
        let group = self.api_group();
        if let Some((namespace, name)) = split_service_account(&wanted.name) {
            if wanted.groups.is_empty() {
                actual.groups = service_account_groups(namespace);
            }
            return self.one(group, "serviceaccounts", "", namespace, name);
        }
        match split_node(&wanted.name) {
            Some(node) if self.mode != Mode::Legacy => {
                actual.groups = vec!["system:nodes".to_owned()];
                let name = if self.mode == Mode::AssociatedNode {
                    "*"
                } else {
                    node
                };
                self.one(group, "nodes", "", "", name)
            }
            _ => self.one(group, "users", "", "", &wanted.name),
        }
    }

    fn groups(&self, groups: &[String]) -> Result<(), Status> {
        if self.mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                let reason = "impersonating the empty string group is not allowed";
                return Err(self.refused("groups", "", reason));
            }
            if groups.iter().any(|group| group == MASTERS) {
                let reason = "impersonating the system:masters group is not allowed";
                return Err(self.refused("groups", MASTERS, reason));
            }
        }
        for group in groups {
            self.one(self.api_group(), "groups", "", "", group)?;
        }
        Ok(())
    }

    fn extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Status> {
        for (key, values) in extra {
            for value in values {
                self.one(AUTHENTICATION, "userextras", key, "", value)?;
            }
        }
        Ok(())
    }
}

/// The user that the headers name.
fn wanted(headers: &HeaderMap) -> Result<Option<Identity>, Status> {
    let mut wanted = Identity {
        name: first(headers, USER),
        uid: first(headers, UID),
        ..Identity::default()
    };
    let groups = headers.get_all(GROUP).iter();
    wanted.groups = groups
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    for (name, value) in headers {
        // Header names are in lower case here.
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            wanted.extra.entry(unescaped(key)).or_default().push(value);
        }
    }
    if !wanted.name.is_empty() {
        return Ok(Some(wanted));
    }
    if wanted == Identity::default() {
        return Ok(None);
    }
    Err(Status::bad_request(format!(
        "requested {} without impersonating a user name",
        go_syntax(&wanted)
    )))
}

fn first(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).map(http::HeaderValue::as_bytes);
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// Undoes percent encoding. What is not encoded properly stays as it is.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let hex = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let Some(byte) = hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            return key.to_owned();
        };
        bytes.push(byte);
        rest = tail.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

/// The user as the real server writes it into this one message.
fn go_syntax(user: &Identity) -> String {
    let list = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
        format!("[]string{{{}}}", texts.join(", "))
    };
    let groups = match user.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => list(groups),
    };
    let extra: Vec<String> = user
        .extra
        .iter()
        .map(|(key, values)| format!("{}:{}", quote(key), list(values)))
        .collect();
    let extra = match extra.as_slice() {
        [] => "map[string][]string(nil)".to_owned(),
        extra => format!("map[string][]string{{{}}}", extra.join(", ")),
    };
    let (name, uid) = (quote(&user.name), quote(&user.uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}
