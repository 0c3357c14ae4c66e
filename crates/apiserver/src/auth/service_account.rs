//! Tokens of service accounts: what they claim, and whether what they claim is still so.

use std::sync::Arc;

use outrigger_store::{Object, Resource, Store};
use serde_json::{Value, json};

use super::credentials::{ISSUER, SigningKey};
use super::identity::{Identity, service_account_name, split_service_account};
use super::jwt;
use super::rule::quoted_list;

/// The issuer of tokens that are kept in Secrets and do not expire.
const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// Clocks may differ by so much.
const LEEWAY_SECONDS: i64 = 60;

/// Somebody who showed a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) identity: Identity,
    /// Those of the wanted audiences that the token is for.
    pub(super) audiences: Vec<String>,
}

/// The claims of a token, read and not believed.
#[derive(Debug)]
pub(super) struct Claims(Value);

impl Claims {
    /// None if it is no token of a service account of this server.
    pub(super) fn read(token: &str) -> Option<Self> {
        let claims = jwt::claims(token)?;
        let issuer = claims["iss"].as_str()?;
        [ISSUER, LEGACY_ISSUER]
            .contains(&issuer)
            .then_some(Self(claims))
    }

    /// Who the claims are about if all of them still hold. The signature is the caller's business.
    pub(super) fn hold(
        &self,
        store: &Store,
        token: &str,
        wanted: &[String],
        now: i64,
    ) -> Result<Shown, String> {
        let own = || vec![ISSUER.to_owned()];
        let audiences = strings(&self.0["aud"]);
        let audiences = if audiences.is_empty() {
            own()
        } else {
            audiences
        };
        let common = audiences
            .iter()
            .filter(|audience| wanted.contains(audience));
        let common: Vec<String> = common.cloned().collect();
        if common.is_empty() {
            let (have, want) = (quoted_list(&audiences), quoted_list(wanted));
            return Err(format!(
                "token audiences {have} is invalid for the target audiences {want}"
            ));
        }
        let identity = if self.0["iss"] == LEGACY_ISSUER {
            self.legacy(store, token)?
        } else {
            self.bound(store, now)?
        };
        Ok(Shown {
            identity,
            audiences: common,
        })
    }

    fn bound(&self, store: &Store, now: i64) -> Result<Identity, String> {
        let claims = &self.0;
        let second = |name: &str| claims[name].as_i64();
        if second("nbf").is_some_and(|start| now + LEEWAY_SECONDS < start) {
            return Err("service account token is not valid yet".to_owned());
        }
        if second("exp").is_some_and(|end| now - LEEWAY_SECONDS > end) {
            return Err("service account token has expired".to_owned());
        }
        if second("iat").is_some_and(|issued| now + LEEWAY_SECONDS < issued) {
            return Err("service account token is issued in the future".to_owned());
        }
        let private = &claims["kubernetes.io"];
        let namespace = text(&private["namespace"]);
        let (name, uid) = reference(&private["serviceaccount"]);
        let account = find(store, "serviceaccounts", namespace, name).ok_or_else(|| {
            format!(
                "serviceaccounts {} not found",
                outrigger_apimachinery::status::field::quote(name)
            )
        })?;
        let found = account.metadata().uid();
        if found != uid {
            return Err(format!(
                "service account UID ({found}) does not match claim ({uid})"
            ));
        }
        if is_deleted(&account, now) {
            return Err(format!(
                "service account {namespace}/{name} has been deleted"
            ));
        }
        let mut identity = Identity::service_account(namespace, name, uid);
        for (what, plural) in [("secret", "secrets"), ("pod", "pods"), ("node", "nodes")] {
            let bound = &private[what];
            // The node of a pod is told, not checked.
            let is_told = what == "node" && !private["pod"].is_null();
            if bound.is_null() {
                continue;
            }
            if !is_told {
                let namespace = if what == "node" { "" } else { namespace };
                check_bound(store, what, plural, namespace, bound, now)?;
            }
            if what != "secret" {
                tell(&mut identity, what, bound);
            }
        }
        if let Some(id) = claims["jti"].as_str() {
            let key = "authentication.kubernetes.io/credential-id".to_owned();
            identity.extra.insert(key, vec![format!("JTI={id}")]);
        }
        Ok(identity)
    }

    fn legacy(&self, store: &Store, token: &str) -> Result<Identity, String> {
        let claim = |name: &str| text(&self.0[format!("kubernetes.io/serviceaccount/{name}")]);
        let (namespace, secret) = (claim("namespace"), claim("secret.name"));
        let (name, uid) = (claim("service-account.name"), claim("service-account.uid"));
        if split_service_account(text(&self.0["sub"])) != Some((namespace, name)) {
            return Err("sub claim is invalid".to_owned());
        }
        let secret = find(store, "secrets", namespace, secret);
        let secret = secret.filter(|secret| secret.metadata().deletion_timestamp().is_none());
        let secret = secret.ok_or("Token has been invalidated")?;
        let value: Value = serde_json::from_slice(secret.bytes()).unwrap_or_default();
        if text(&value["data"]["token"]) != encoded(token) {
            return Err("Token does not match server's copy".to_owned());
        }
        let account = find(store, "serviceaccounts", namespace, name).ok_or_else(|| {
            format!(
                "serviceaccounts {} not found",
                outrigger_apimachinery::status::field::quote(name)
            )
        })?;
        if account.metadata().deletion_timestamp().is_some() {
            return Err(format!(
                "ServiceAccount {namespace}/{name} has been deleted"
            ));
        }
        let found = account.metadata().uid();
        if found != uid {
            return Err(format!(
                "ServiceAccount UID ({found}) does not match claim ({uid})"
            ));
        }
        Ok(Identity::service_account(namespace, name, uid))
    }
}

/// The token of a Secret of type `kubernetes.io/service-account-token`. It is valid as long as the Secret holds it.
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

/// As the data of a Secret.
pub(super) fn encoded(token: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(token)
}

fn check_bound(
    store: &Store,
    what: &str,
    plural: &str,
    namespace: &str,
    bound: &Value,
    now: i64,
) -> Result<(), String> {
    let (name, uid) = reference(bound);
    let object = find(store, plural, namespace, name);
    let object = object.ok_or("service account token has been invalidated")?;
    let found = object.metadata().uid();
    if found != uid {
        return Err(format!(
            "{what} UID ({found}) does not match service account {what} ref claim ({uid})"
        ));
    }
    if is_deleted(&object, now) {
        return Err("service account token has been invalidated".to_owned());
    }
    Ok(())
}

fn tell(identity: &mut Identity, what: &str, bound: &Value) {
    let (name, uid) = reference(bound);
    for (part, value) in [("name", name), ("uid", uid)] {
        if !value.is_empty() {
            let key = format!("authentication.kubernetes.io/{what}-{part}");
            identity.extra.insert(key, vec![value.to_owned()]);
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
    deleted.is_some_and(|time| time.as_second() < now - LEEWAY_SECONDS)
}

fn reference(value: &Value) -> (&str, &str) {
    (text(&value["name"]), text(&value["uid"]))
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn strings(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}
