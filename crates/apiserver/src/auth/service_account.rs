//! Service account tokens: their claims, and the validation against the store.

use std::sync::Arc;

use outrigger_apimachinery::status::field::quote;
use outrigger_builtin::fields::as_text;
use outrigger_store::{Object, Resource, Store};
use serde_json::{Value, json};

use super::credentials::{ISSUER, SigningKey};
use super::jwt;
use super::rule::quoted_list;
use super::user::{UserInfo, service_account_name, split_service_account};

/// The issuer of tokens in Secrets, which do not expire.
const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// The tolerated clock skew.
const LEEWAY_SECONDS: i64 = 60;

/// Why a token is rejected, in the words of the real server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct TokenError(String);

impl TokenError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    pub(super) fn invalid() -> Self {
        Self::new("invalid bearer token")
    }

    /// The error of all authenticators together.
    pub(super) fn aggregate(error: &Self) -> Self {
        Self(format!("[{}, {error}]", Self::invalid()))
    }
}

/// A valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthenticatedToken {
    pub(super) user: UserInfo,
    /// The requested audiences that the token is valid for.
    pub(super) audiences: Vec<String>,
}

/// The claims of a token, not validated yet.
#[derive(Debug)]
pub(super) struct Claims(Value);

impl Claims {
    /// None if the token is not a service account token of this server.
    pub(super) fn read(token: &str) -> Option<Self> {
        let claims = jwt::claims(token)?;
        let issuer = claims["iss"].as_str()?;
        [ISSUER, LEGACY_ISSUER]
            .contains(&issuer)
            .then_some(Self(claims))
    }

    /// Validates the claims and returns the user. The caller verifies the signature.
    pub(super) fn validate(
        &self,
        store: &Store,
        token: &str,
        requested: &[String],
        now: i64,
    ) -> Result<AuthenticatedToken, TokenError> {
        let own = || vec![ISSUER.to_owned()];
        let audiences = strings(&self.0["aud"]);
        let audiences = if audiences.is_empty() {
            own()
        } else {
            audiences
        };
        let common = audiences
            .iter()
            .filter(|audience| requested.contains(audience));
        let common: Vec<String> = common.cloned().collect();
        if common.is_empty() {
            let (valid, requested) = (quoted_list(&audiences), quoted_list(requested));
            return Err(TokenError(format!(
                "token audiences {valid} is invalid for the target audiences {requested}"
            )));
        }
        let user = if self.0["iss"] == LEGACY_ISSUER {
            self.legacy(store, token)?
        } else {
            self.bound(store, now)?
        };
        Ok(AuthenticatedToken {
            user,
            audiences: common,
        })
    }

    fn bound(&self, store: &Store, now: i64) -> Result<UserInfo, TokenError> {
        let claims = &self.0;
        let second = |name: &str| claims[name].as_i64();
        if second("nbf").is_some_and(|start| now.saturating_add(LEEWAY_SECONDS) < start) {
            return Err(TokenError::new("service account token is not valid yet"));
        }
        if second("exp").is_some_and(|end| now.saturating_sub(LEEWAY_SECONDS) > end) {
            return Err(TokenError::new("service account token has expired"));
        }
        if second("iat").is_some_and(|issued| now.saturating_add(LEEWAY_SECONDS) < issued) {
            return Err(TokenError::new(
                "service account token is issued in the future",
            ));
        }
        let private = &claims["kubernetes.io"];
        let namespace = as_text(&private["namespace"]);
        let (name, uid) = reference(&private["serviceaccount"]);
        let account = find(store, "serviceaccounts", namespace, name)
            .ok_or_else(|| TokenError(format!("serviceaccounts {} not found", quote(name))))?;
        let found = account.metadata().uid();
        if found != uid {
            return Err(TokenError(format!(
                "service account UID ({found}) does not match claim ({uid})"
            )));
        }
        if is_deleted(&account, now) {
            return Err(TokenError(format!(
                "service account {namespace}/{name} has been deleted"
            )));
        }
        let mut user = UserInfo::service_account(namespace, name, uid);
        for (resource, plural) in [("secret", "secrets"), ("pod", "pods"), ("node", "nodes")] {
            let bound = &private[resource];
            // The node of a pod is not validated.
            let is_informational = resource == "node" && !private["pod"].is_null();
            if bound.is_null() {
                continue;
            }
            if !is_informational {
                let namespace = if resource == "node" { "" } else { namespace };
                check_bound(store, resource, plural, namespace, bound, now)?;
            }
            if resource != "secret" {
                add_extra(&mut user, resource, bound);
            }
        }
        if let Some(id) = claims["jti"].as_str() {
            let key = "authentication.kubernetes.io/credential-id".to_owned();
            user.extra.insert(key, vec![format!("JTI={id}")]);
        }
        Ok(user)
    }

    fn legacy(&self, store: &Store, token: &str) -> Result<UserInfo, TokenError> {
        let claim = |name: &str| as_text(&self.0[format!("kubernetes.io/serviceaccount/{name}")]);
        let (namespace, secret) = (claim("namespace"), claim("secret.name"));
        let (name, uid) = (claim("service-account.name"), claim("service-account.uid"));
        if split_service_account(as_text(&self.0["sub"])) != Some((namespace, name)) {
            return Err(TokenError::new("sub claim is invalid"));
        }
        let secret = find(store, "secrets", namespace, secret);
        let secret = secret.filter(|secret| secret.metadata().deletion_timestamp().is_none());
        let secret = secret.ok_or_else(|| TokenError::new("Token has been invalidated"))?;
        let value: Value = serde_json::from_slice(secret.bytes()).unwrap_or_default();
        if as_text(&value["data"]["token"]) != encoded(token) {
            return Err(TokenError::new("Token does not match server's copy"));
        }
        let account = find(store, "serviceaccounts", namespace, name)
            .ok_or_else(|| TokenError(format!("serviceaccounts {} not found", quote(name))))?;
        if account.metadata().deletion_timestamp().is_some() {
            return Err(TokenError(format!(
                "ServiceAccount {namespace}/{name} has been deleted"
            )));
        }
        let found = account.metadata().uid();
        if found != uid {
            return Err(TokenError(format!(
                "ServiceAccount UID ({found}) does not match claim ({uid})"
            )));
        }
        Ok(UserInfo::service_account(namespace, name, uid))
    }
}

/// The token of a Secret of type `kubernetes.io/service-account-token`. It is valid as long as the Secret has it.
pub(super) fn legacy_token(
    key: &SigningKey,
    namespace: &str,
    (name, uid): (&str, &str),
    secret: &str,
) -> Result<String, super::SecretError> {
    let claims = json!({
        "iss": LEGACY_ISSUER,
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/secret.name": secret,
        "kubernetes.io/serviceaccount/service-account.name": name,
        "kubernetes.io/serviceaccount/service-account.uid": uid,
        "sub": service_account_name(namespace, name),
    });
    jwt::sign(key, &claims)
}

/// Base64, as in the data of a Secret.
pub(super) fn encoded(token: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(token)
}

fn check_bound(
    store: &Store,
    resource: &str,
    plural: &str,
    namespace: &str,
    bound: &Value,
    now: i64,
) -> Result<(), TokenError> {
    let (name, uid) = reference(bound);
    let object = find(store, plural, namespace, name);
    let object =
        object.ok_or_else(|| TokenError::new("service account token has been invalidated"))?;
    let found = object.metadata().uid();
    if found != uid {
        return Err(TokenError(format!(
            "{resource} UID ({found}) does not match service account {resource} ref claim ({uid})"
        )));
    }
    if is_deleted(&object, now) {
        return Err(TokenError::new(
            "service account token has been invalidated",
        ));
    }
    Ok(())
}

fn add_extra(user: &mut UserInfo, resource: &str, bound: &Value) {
    let (name, uid) = reference(bound);
    for (part, value) in [("name", name), ("uid", uid)] {
        if !value.is_empty() {
            let key = format!("authentication.kubernetes.io/{resource}-{part}");
            user.extra.insert(key, vec![value.to_owned()]);
        }
    }
}

/// An object of the core group.
pub(super) fn find(
    store: &Store,
    plural: &str,
    namespace: &str,
    name: &str,
) -> Option<Arc<Object>> {
    let key = Resource::new("", plural).ok()?.key(namespace, name).ok()?;
    store.get(&key)
}

fn is_deleted(object: &Object, now: i64) -> bool {
    let deleted = object.metadata().deletion_timestamp();
    let deleted = deleted.and_then(|time| time.parse::<jiff::Timestamp>().ok());
    deleted.is_some_and(|time| time.as_second() < now.saturating_sub(LEEWAY_SECONDS))
}

fn reference(value: &Value) -> (&str, &str) {
    (as_text(&value["name"]), as_text(&value["uid"]))
}

pub(super) fn strings(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}
