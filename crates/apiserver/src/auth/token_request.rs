//! `TokenRequest`: issues tokens for service accounts.

use jiff::Timestamp;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::{GroupKind, GroupResource};
use outrigger_builtin::fields::as_text;
use serde_json::{Value, json};

use super::Auth;
use super::credentials::ISSUER;
use super::jwt;
use super::service_account::{find, strings};
use super::user::service_account_name;
use crate::verbs::random_uid;

const KIND: GroupKind<'_> = GroupKind::new("authentication.k8s.io", "TokenRequest");
const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;

/// The claims of the object that a token is bound to.
#[derive(Default)]
struct Bound {
    claims: Vec<(&'static str, Value)>,
}

impl Auth {
    /// Signs a token for a service account; returns the `TokenRequest` with its status.
    pub fn issue_token(
        &self,
        namespace: &str,
        service_account: &Value,
        mut request: Value,
    ) -> Result<Value, Status> {
        let name = as_text(&service_account["metadata"]["name"]);
        let uid = as_text(&service_account["metadata"]["uid"]);
        check_names(&request, namespace, name, uid)?;
        let spec = &request["spec"];
        let seconds = spec["expirationSeconds"]
            .as_i64()
            .unwrap_or(DEFAULT_SECONDS);
        check_seconds(seconds)?;
        let mut audiences = strings(&spec["audiences"]);
        if audiences.is_empty() {
            audiences.push(ISSUER.to_owned());
        }
        let reference = request["spec"]["boundObjectRef"].take();
        let bound = self.bound(namespace, name, &reference)?;
        let now = self.now();
        let end = now.as_second().saturating_add(seconds);
        let mut private = json!({
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": uid},
        });
        for (resource, reference) in bound.claims {
            private[resource] = reference;
        }
        let claims = json!({
            "aud": audiences,
            "exp": end,
            "iat": now.as_second(),
            "iss": ISSUER,
            "jti": random_uid()?,
            "kubernetes.io": private,
            "nbf": now.as_second(),
            "sub": service_account_name(namespace, name),
        });
        let token = jwt::sign(&self.credentials().key, &claims).map_err(Status::internal)?;
        let end = Timestamp::from_second(end).map_err(Status::internal)?;
        let mut metadata = request["metadata"].take();
        metadata["name"] = name.into();
        metadata["namespace"] = namespace.into();
        metadata["uid"] = uid.into();
        metadata["creationTimestamp"] = seconds_text(now).into();
        Ok(json!({
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": metadata,
            "spec": {
                "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference,
            },
            "status": {"token": token, "expirationTimestamp": seconds_text(end)},
        }))
    }

    fn bound(&self, namespace: &str, account: &str, reference: &Value) -> Result<Bound, Status> {
        if reference.is_null() {
            return Ok(Bound::default());
        }
        let (api_version, kind) = (
            as_text(&reference["apiVersion"]),
            as_text(&reference["kind"]),
        );
        let name = as_text(&reference["name"]);
        let (resource, plural, namespace) = match (api_version, kind) {
            ("" | "v1", "Secret") => ("secret", "secrets", namespace),
            ("" | "v1", "Pod") => ("pod", "pods", namespace),
            ("" | "v1", "Node") => ("node", "nodes", ""),
            _ => {
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                return Err(Status::bad_request(format!(
                    "cannot bind token to object of type {group}/{version}, Kind={kind}"
                )));
            }
        };
        let store = self.store();
        let object = find(store, plural, namespace, name)
            .ok_or_else(|| Status::not_found(GroupResource::new("", plural), name))?;
        let uid = object.metadata().uid();
        let mut bound = Bound::default();
        if resource == "pod" {
            let pod: Value = serde_json::from_slice(object.bytes()).map_err(Status::internal)?;
            if as_text(&pod["spec"]["serviceAccountName"]) != account {
                let account = outrigger_apimachinery::status::field::quote(account);
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
                )));
            }
            bound
                .claims
                .extend(node_of(store, as_text(&pod["spec"]["nodeName"])));
        }
        let expected = as_text(&reference["uid"]);
        if !expected.is_empty() && expected != uid {
            let why = format!(
                "the UID in the bound object reference ({expected}) does not match the UID in record. The object might have been deleted and then recreated"
            );
            return Err(Status::conflict(GroupResource::new("", kind), name, why));
        }
        bound
            .claims
            .push((resource, json!({"name": name, "uid": uid})));
        Ok(bound)
    }
}

/// The claim for the node of a pod; only its name if the node does not exist.
fn node_of(store: &outrigger_store::Store, name: &str) -> Option<(&'static str, Value)> {
    if name.is_empty() {
        return None;
    }
    let node = find(store, "nodes", "", name);
    let claim = match node {
        Some(node) => json!({"name": name, "uid": node.metadata().uid()}),
        None => json!({"name": name}),
    };
    Some(("node", claim))
}

fn check_names(request: &Value, namespace: &str, name: &str, uid: &str) -> Result<(), Status> {
    let requested = &request["metadata"];
    let given = as_text(&requested["namespace"]);
    if !given.is_empty() && given != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let given = as_text(&requested["name"]);
    if !given.is_empty() && given != name {
        let metadata = Path::root("metadata");
        let detail = "must match the service account name if specified";
        let error = Error::invalid(&metadata.child("name"), given, detail);
        return Err(Status::invalid(KIND, name, &[error]));
    }
    let given = as_text(&requested["uid"]);
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        );
        let resource = GroupResource::new(KIND.group, KIND.kind);
        return Err(Status::conflict(resource, name, why));
    }
    Ok(())
}

fn check_seconds(seconds: i64) -> Result<(), Status> {
    let detail = if seconds < MIN_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MAX_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let spec = Path::root("spec");
    let error = Error::invalid(&spec.child("expirationSeconds"), seconds, detail);
    Err(Status::invalid(KIND, "", &[error]))
}

pub(super) fn seconds_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
