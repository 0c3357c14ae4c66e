//! Authentication and authorization: tokens, impersonation, RBAC, reviews.
//!
//! Roles and bindings are kept in an index, so that authorizing a request parses no object.

mod authorization_checks;
mod bootstrap_policy;
pub mod cluster_role_aggregation;
mod credentials;
mod escalation;
mod impersonate;
mod index;
mod jwt;
mod policy;
mod review;
mod rule;
mod rule_set;
mod service_account;
mod token_request;
pub mod token_secrets;
mod user;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLockReadGuard};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

pub use bootstrap_policy::bootstrap_objects;
pub use credentials::{Credentials, ISSUER, SecretError, SigningKey, StaticTokens, Token};
pub use user::{
    ANONYMOUS, AUTHENTICATED, Attributes, MASTERS, Target, UNAUTHENTICATED, UserInfo,
    service_account_name,
};

use credentials::digest;
use index::{Decision, Index};
use outrigger_apimachinery::status::Status;
use outrigger_store::Store;
use policy::Policy;
use service_account::{AuthenticatedToken, Claims, TokenError};

/// How many verified tokens are cached.
const MAX_VERIFIED: usize = 4096;

/// The authenticator and authorizer of a server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Auth {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    credentials: Credentials,
    policy: Policy,
    /// The claims of tokens with a verified signature, by digest.
    verified: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
    clock: fn() -> Timestamp,
}

impl Auth {
    pub fn new(store: Store, credentials: Credentials) -> Self {
        Self::with_clock(store, credentials, Timestamp::now)
    }

    pub fn with_clock(store: Store, credentials: Credentials, clock: fn() -> Timestamp) -> Self {
        Self {
            shared: Arc::new(Shared {
                policy: Policy::new(store.clone()),
                store,
                credentials,
                verified: Mutex::default(),
                clock,
            }),
        }
    }

    /// Who sent a request, by its bearer token. The user that it acts for is found by [`Auth::impersonate`].
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<UserInfo, Status> {
        match bearer(headers) {
            Some(token) => match self.authenticate_token(token, &[]) {
                Ok(token) => Ok(token.user),
                Err(_) => Err(Status::unauthorized()),
            },
            None if self.shared.credentials.anonymous => Ok(UserInfo::anonymous()),
            None => Err(Status::unauthorized()),
        }
    }

    /// The error for the client if the user is not allowed.
    pub fn authorize(&self, user: &UserInfo, attributes: &Attributes<'_>) -> Result<(), Status> {
        if user.is_privileged() || self.index().allows(user, attributes) {
            return Ok(());
        }
        let decision = self.decide(user, attributes);
        if decision.allowed {
            return Ok(());
        }
        Err(Status::denied(
            &attributes.for_message(&user.name),
            &decision.reason,
        ))
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

    fn decide(&self, user: &UserInfo, attributes: &Attributes<'_>) -> Decision {
        if user.is_privileged() {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        self.index().decide(user, attributes)
    }

    /// Authenticates a token for one of the audiences; for those of this server if there are none.
    fn authenticate_token(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<AuthenticatedToken, TokenError> {
        let own = [ISSUER.to_owned()];
        let wanted = if audiences.is_empty() {
            &own
        } else {
            audiences
        };
        if let Some(user) = self.shared.credentials.user(token) {
            if !wanted.contains(&own[0]) {
                return Err(TokenError::invalid());
            }
            return Ok(AuthenticatedToken {
                user,
                audiences: own.to_vec(),
            });
        }
        let claims = self
            .verified_claims(token)
            .ok_or_else(TokenError::invalid)?;
        let now = self.now().as_second();
        claims
            .and_then(|claims| claims.validate(&self.shared.store, token, wanted, now))
            .map_err(|error| TokenError::aggregate(&error))
    }

    /// The claims of a service account token; none if another issuer has issued it.
    fn verified_claims(&self, token: &str) -> Option<Result<Arc<Claims>, TokenError>> {
        let digest = digest(token);
        let verified = || {
            self.shared
                .verified
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(claims) = verified().get(&digest) {
            return Some(Ok(Arc::clone(claims)));
        }
        let claims = Arc::new(Claims::read(token)?);
        if let Err(error) = jwt::verify(&self.shared.credentials.key, token) {
            return Some(Err(TokenError::new(error.to_string())));
        }
        let mut verified = verified();
        if verified.len() >= MAX_VERIFIED {
            verified.clear();
        }
        verified.insert(digest, Arc::clone(&claims));
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

/// The bearer token of the `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
