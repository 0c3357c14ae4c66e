//! Impersonation: the `Impersonate-*` headers.
//!
//! The modes are tried in the order of the real server: constrained impersonation of a node, a service account or a user
//! (`impersonate-on:MODE:VERB` and `impersonate:MODE`), then legacy impersonation (`impersonate`). The error is that of
//! the first mode that applies.

use std::collections::BTreeMap;

use http::HeaderMap;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::quote;

use super::Auth;
use super::user::{
    ANONYMOUS, AUTHENTICATED, Attributes, MASTERS, Target, UNAUTHENTICATED, UserInfo,
    service_account_groups, split_node, split_service_account,
};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// The impersonation modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// Unconstrained impersonation.
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

    fn applies(self, user: &UserInfo, target: &UserInfo) -> bool {
        let only_name =
            target.uid.is_empty() && target.groups.is_empty() && target.extra.is_empty();
        let node = split_node(&target.name);
        let account = split_service_account(&target.name);
        match self {
            Self::AssociatedNode => {
                let own = user.extra.get("authentication.kubernetes.io/node-name");
                let own = own.and_then(|names| match names.as_slice() {
                    [name] => Some(name.as_str()),
                    _ => None,
                });
                only_name
                    && node.is_some()
                    && node == own
                    && split_service_account(&user.name).is_some()
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

impl Auth {
    /// Whether a request has impersonation headers.
    pub fn has_impersonation(headers: &HeaderMap) -> bool {
        headers
            .keys()
            .any(|name| name.as_str().starts_with("impersonate-"))
    }

    /// The impersonated user if the headers name one and `user` may impersonate it; otherwise `user`.
    pub fn impersonate(
        &self,
        user: UserInfo,
        headers: &HeaderMap,
        attributes: &Attributes<'_>,
    ) -> Result<UserInfo, Status> {
        let Some(target) = requested_user(headers)? else {
            return Ok(user);
        };
        let mut first = None;
        for mode in MODES {
            if !mode.applies(&user, &target) {
                continue;
            }
            match self.check_mode(mode, &user, &target, attributes) {
                Ok(user) => return Ok(user),
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
        user: &UserInfo,
        target: &UserInfo,
        attributes: &Attributes<'_>,
    ) -> Result<UserInfo, Status> {
        if mode != Mode::Legacy {
            let verb = format!("impersonate-on:{}:{}", mode.name(), attributes.verb);
            self.authorize(
                user,
                &Attributes {
                    verb: &verb,
                    ..*attributes
                },
            )?;
        }
        let check = Check {
            auth: self,
            user,
            mode,
            verb: mode.verb(),
        };
        let mut actual = target.clone();
        check.name(target, &mut actual)?;
        if !target.uid.is_empty() {
            check.one(AUTHENTICATION, "uids", "", "", &target.uid)?;
        }
        check.groups(&target.groups)?;
        check.extra(&target.extra)?;
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
    user: &'a UserInfo,
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
        self.auth.authorize(self.user, &Attributes { verb, target })
    }

    fn forbidden(&self, resource: &str, name: &str, reason: &str) -> Status {
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
        Status::denied(&attributes.for_message(&self.user.name), reason)
    }

    /// Legacy impersonation has users and groups in the core group.
    fn api_group(&self) -> &'static str {
        match self.mode {
            Mode::Legacy => "",
            _ => AUTHENTICATION,
        }
    }

    fn name(&self, target: &UserInfo, actual: &mut UserInfo) -> Result<(), Status> {
        let group = self.api_group();
        if let Some((namespace, name)) = split_service_account(&target.name) {
            if target.groups.is_empty() {
                actual.groups = service_account_groups(namespace);
            }
            return self.one(group, "serviceaccounts", "", namespace, name);
        }
        match split_node(&target.name) {
            Some(node) if self.mode != Mode::Legacy => {
                actual.groups = vec!["system:nodes".to_owned()];
                let name = if self.mode == Mode::AssociatedNode {
                    "*"
                } else {
                    node
                };
                self.one(group, "nodes", "", "", name)
            }
            _ => self.one(group, "users", "", "", &target.name),
        }
    }

    fn groups(&self, groups: &[String]) -> Result<(), Status> {
        if self.mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                let reason = "impersonating the empty string group is not allowed";
                return Err(self.forbidden("groups", "", reason));
            }
            if groups.iter().any(|group| group == MASTERS) {
                let reason = "impersonating the system:masters group is not allowed";
                return Err(self.forbidden("groups", MASTERS, reason));
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
fn requested_user(headers: &HeaderMap) -> Result<Option<UserInfo>, Status> {
    let mut target = UserInfo {
        name: first(headers, USER),
        uid: first(headers, UID),
        ..UserInfo::default()
    };
    let groups = headers.get_all(GROUP).iter();
    target.groups = groups
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    for (name, value) in headers {
        // `http` lowercases header names.
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            target.extra.entry(unescaped(key)).or_default().push(value);
        }
    }
    if !target.name.is_empty() {
        return Ok(Some(target));
    }
    if target == UserInfo::default() {
        return Ok(None);
    }
    Err(Status::bad_request(format!(
        "requested {} without impersonating a user name",
        go_syntax(&target)
    )))
}

fn first(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).map(http::HeaderValue::as_bytes);
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// Decodes percent-encoding. Invalid escapes are kept.
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

/// The user in Go's `%#v` format, as this error message has it.
fn go_syntax(user: &UserInfo) -> String {
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
