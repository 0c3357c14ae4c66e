//! Who asks, and may they? Tokens, impersonation, roles and bindings, reviews.
//!
//! [`Auth::authenticate`] says who sent a request, [`Auth::impersonate`] for whom it acts, [`Auth::authorize`] whether
//! it may. Roles and bindings are read from the store and kept in an index; no request parses an object.

pub mod aggregate;
mod bootstrap;
mod credentials;
mod escalation;
mod identity;
mod impersonate;
mod index;
mod issue;
mod jwt;
mod policy;
mod review;
mod rule;
mod service_account;
pub mod token_secrets;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLockReadGuard};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

pub use bootstrap::bootstrap_objects;
pub use credentials::{Credentials, ISSUER, SecretError, SigningKey, StaticTokens, Token};
pub use identity::{
    ANONYMOUS, AUTHENTICATED, Attributes, Identity, MASTERS, Target, UNAUTHENTICATED,
    service_account_name,
};

use credentials::digest;
use index::{Decision, Index};
use outrigger_apimachinery::status::Status;
use outrigger_store::Store;
use policy::Policy;
use service_account::{Claims, Shown};

/// Most tokens whose signature is remembered to be ours.
const REMEMBERED: usize = 4096;

/// Authentication and authorization of one server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Auth {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    credentials: Credentials,
    policy: Policy,
    /// The claims of tokens that we have signed, by digest, so that a token is read and checked once.
    signed: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
    clock: fn() -> Timestamp,
}

impl Auth {
    pub fn new(store: Store, credentials: Credentials) -> Self {
        Self::with_clock(store, credentials, Timestamp::now)
    }

    /// With a clock that a test can set.
    pub fn with_clock(store: Store, credentials: Credentials, clock: fn() -> Timestamp) -> Self {
        Self {
            shared: Arc::new(Shared {
                policy: Policy::new(store.clone()),
                store,
                credentials,
                signed: Mutex::default(),
                clock,
            }),
        }
    }

    /// Who sent a request, by its bearer token. The user that it acts for is found by [`Auth::impersonate`].
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Status> {
        match bearer(headers) {
            Some(token) => match self.identify(token, &[]) {
                Ok(shown) => Ok(shown.identity),
                Err(_) => Err(Status::unauthorized()),
            },
            None if self.shared.credentials.anonymous => Ok(Identity::anonymous()),
            None => Err(Status::unauthorized()),
        }
    }

    /// Whether `who` may do it; the answer to the client if not.
    pub fn authorize(&self, who: &Identity, what: &Attributes<'_>) -> Result<(), Status> {
        if who.is_privileged() || self.index().allows(who, what) {
            return Ok(());
        }
        let decision = self.decide(who, what);
        if decision.allowed {
            return Ok(());
        }
        Err(Status::denied(&what.described(&who.name), &decision.reason))
    }

    /// The token of a Secret of type `kubernetes.io/service-account-token`.
    pub fn legacy_token(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        secret: &str,
    ) -> Result<String, SecretError> {
        let key = &self.shared.credentials.key;
        service_account::legacy_token(key, namespace, (name, uid), secret)
    }

    fn decide(&self, who: &Identity, what: &Attributes<'_>) -> Decision {
        if who.is_privileged() {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        self.index().decide(who, what)
    }

    /// The user of a token that is for one of the audiences; those of this server if there are none.
    fn identify(&self, token: &str, audiences: &[String]) -> Result<Shown, String> {
        const INVALID: &str = "invalid bearer token";
        let own = [ISSUER.to_owned()];
        let wanted = if audiences.is_empty() {
            &own
        } else {
            audiences
        };
        if let Some(identity) = self.shared.credentials.user(token) {
            if !wanted.contains(&own[0]) {
                return Err(INVALID.to_owned());
            }
            return Ok(Shown {
                identity,
                audiences: own.to_vec(),
            });
        }
        let claims = self.signed_claims(token).ok_or(INVALID)?;
        let now = self.now().as_second();
        claims
            .and_then(|claims| claims.hold(&self.shared.store, token, wanted, now))
            .map_err(|error| format!("[{INVALID}, {error}]"))
    }

    /// What a token claims, if we have signed it. None if it is none of ours.
    fn signed_claims(&self, token: &str) -> Option<Result<Arc<Claims>, String>> {
        let digest = digest(token);
        let signed = || {
            self.shared
                .signed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(claims) = signed().get(&digest) {
            return Some(Ok(Arc::clone(claims)));
        }
        let claims = Arc::new(Claims::read(token)?);
        if let Err(error) = jwt::verify(&self.shared.credentials.key, token) {
            return Some(Err(error.to_string()));
        }
        let mut signed = signed();
        if signed.len() >= REMEMBERED {
            signed.clear();
        }
        signed.insert(digest, Arc::clone(&claims));
        Some(Ok(claims))
    }

    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.shared.policy.current()
    }

    fn credentials(&self) -> &Credentials {
        &self.shared.credentials
    }

    fn store(&self) -> &Store {
        &self.shared.store
    }

    fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }
}

/// The token of the `Authorization` header. Any other scheme counts as none.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
