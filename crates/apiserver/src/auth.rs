//! Who asks, and whether they may. A stand-in until the real rules are here: one admin token, and everybody who
//! has it may do everything.

use std::collections::BTreeMap;
use std::fmt;

use http::HeaderMap;
use serde_json::Value;

use crate::kinds::Kind;
use crate::status::Status;
use crate::store::Store;

/// Somebody who makes requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// The server itself.
    pub fn internal() -> Self {
        Self {
            name: "system:apiserver".to_owned(),
            groups: vec![
                "system:masters".to_owned(),
                "system:authenticated".to_owned(),
            ],
            ..Self::default()
        }
    }

    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            ..Self::default()
        }
    }
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    pub verb: &'a str,
    pub target: Target<'a>,
}

/// What it is to be done to.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    Resource {
        group: &'a str,
        version: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    Path(&'a str),
}

/// The secrets of the server.
#[derive(Clone)]
pub struct Credentials {
    pub admin_token: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
pub struct Auth {
    credentials: Credentials,
}

#[expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the real one needs it"
)]
impl Auth {
    pub fn new(_store: Store, credentials: Credentials) -> Self {
        Self { credentials }
    }

    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Status> {
        let header = headers.get(http::header::AUTHORIZATION);
        let token = header
            .and_then(|header| header.to_str().ok())
            .and_then(|header| header.strip_prefix("Bearer "));
        match token {
            Some(token) if token == self.credentials.admin_token => Ok(Identity {
                name: "kubernetes-admin".to_owned(),
                groups: vec![
                    "system:masters".to_owned(),
                    "system:authenticated".to_owned(),
                ],
                ..Identity::default()
            }),
            _ => Err(Status::unauthorized()),
        }
    }

    pub fn authorize(&self, _who: &Identity, _what: &Attributes<'_>) -> Result<(), Status> {
        Ok(())
    }

    pub fn review(
        &self,
        _kind: &str,
        _who: &Identity,
        _object: Value,
    ) -> Option<Result<Value, Status>> {
        None
    }

    pub fn issue_token(
        &self,
        _namespace: &str,
        _service_account: &Value,
        _request: Value,
    ) -> Result<Value, Status> {
        Err(Status::internal("tokens are not issued yet"))
    }

    pub fn check_escalation(
        &self,
        _who: &Identity,
        _kind: &Kind,
        _new: &Value,
        _old: Option<&Value>,
    ) -> Result<(), Status> {
        Ok(())
    }
}
