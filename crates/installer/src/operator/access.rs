//! What an operator may do: read clusters and machines, and write the conditions of the steps that are delegated to it.
//!
//! Roles end at the status of an object. What may change inside of it is checked by an admission policy.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const FIELD_MANAGER: &str = "outrigger-installer";

const NAMESPACE: &str = "outrigger-system";

/// The name of all objects.
const NAME: &str = "expansion-operator";

/// How long a token is valid. Each start of the installer makes another one.
const TOKEN_SECONDS: i64 = 30 * 24 * 3600;

/// Where the API server of the installer is.
#[derive(Debug, Clone)]
pub struct ApiEndpoint {
    /// The URL.
    pub server: String,
    /// The certificate of its CA, PEM in base64.
    pub certificate_authority_data: String,
}

impl ApiEndpoint {
    /// A kubeconfig with a token. JSON is YAML.
    pub(super) fn kubeconfig(&self, token: &str) -> String {
        let cluster = json!({
            "server": self.server,
            "certificate-authority-data": self.certificate_authority_data,
        });
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": NAME,
            "clusters": [{"name": NAME, "cluster": cluster}],
            "users": [{"name": NAME, "user": {"token": token}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        });
        kubeconfig.to_string()
    }
}

/// Grants the rights, and returns a token.
pub(super) async fn grant(client: &Client, steps: &[String]) -> Result<String, kube::Error> {
    let all = |kind: &str, version: &str, rest: Value| {
        let mut object = json!({
            "apiVersion": version, "kind": kind, "metadata": {"name": NAME},
        });
        if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
            object.extend(rest);
        }
        object
    };
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE},
    });
    apply::<Namespace>(Api::all(client.clone()), NAMESPACE, &namespace).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let account = all("ServiceAccount", "v1", json!({}));
    apply(accounts.clone(), NAME, &account).await?;
    let rbac = "rbac.authorization.k8s.io/v1";
    let role = all("ClusterRole", rbac, json!({"rules": rules()}));
    apply::<ClusterRole>(Api::all(client.clone()), NAME, &role).await?;
    let binding = json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    });
    let binding = all("ClusterRoleBinding", rbac, binding);
    apply::<ClusterRoleBinding>(Api::all(client.clone()), NAME, &binding).await?;
    let admission = "admissionregistration.k8s.io/v1";
    let policy = all(
        "ValidatingAdmissionPolicy",
        admission,
        json!({"spec": policy(steps)}),
    );
    apply::<ValidatingAdmissionPolicy>(Api::all(client.clone()), NAME, &policy).await?;
    let binding = json!({"spec": {"policyName": NAME, "validationActions": ["Deny"]}});
    let binding = all("ValidatingAdmissionPolicyBinding", admission, binding);
    apply::<ValidatingAdmissionPolicyBinding>(Api::all(client.clone()), NAME, &binding).await?;
    token(&accounts).await
}

async fn apply<K>(api: Api<K>, name: &str, object: &Value) -> Result<(), kube::Error>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(name, &parameters, &Patch::Apply(object))
        .await
        .map(drop)
}

async fn token(accounts: &Api<ServiceAccount>) -> Result<String, kube::Error> {
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    });
    let parameters = PostParams::default();
    let answer: Value = accounts
        .create_subresource("token", NAME, &parameters, &request)
        .await?;
    let token = answer["status"]["token"].as_str();
    Ok(token.unwrap_or_default().to_owned())
}

fn rules() -> Value {
    json!([
        {
            "apiGroups": ["outrigger.dev"], "resources": ["clusters", "machines"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": ["outrigger.dev"], "resources": ["clusters/status", "machines/status"],
            "verbs": ["get", "patch", "update"],
        },
    ])
}

/// The policy that limits the operator to the conditions of these steps, and to leases of them.
fn policy(steps: &[String]) -> Value {
    let steps: Vec<String> = steps.iter().map(|step| format!("'{step}'")).collect();
    let steps = format!("[{}]", steps.join(", "));
    let user = format!("system:serviceaccount:{NAMESPACE}:{NAME}");
    json!({
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{
            "apiGroups": ["outrigger.dev"], "apiVersions": ["*"], "operations": ["UPDATE"],
            "resources": ["clusters/status", "machines/status"],
        }]},
        "matchConditions": [{
            "name": "operator", "expression": format!("request.userInfo.username == '{user}'"),
        }],
        "validations": [
            {
                "expression": others_unchanged(),
                "message": "an operator may write conditions and delegations only",
            },
            {
                "expression": list_unchanged("conditions", "type", &steps),
                "message": format!("an operator may write the conditions that are delegated to it only: {steps}"),
            },
            {
                "expression": list_unchanged("delegations", "step", &steps),
                "message": format!("an operator may hold leases of steps that are delegated to it only: {steps}"),
            },
        ],
    })
}

/// All other fields of the status are as they were.
fn others_unchanged() -> String {
    let free = "['conditions', 'delegations']";
    format!(
        "has(object.status) && has(oldObject.status) && \
         object.status.all(k, k in {free} || (k in oldObject.status && object.status[k] == oldObject.status[k])) && \
         oldObject.status.all(k, k in {free} || k in object.status)"
    )
}

/// The entries of a list whose key is not one of the steps are as they were.
fn list_unchanged(field: &str, key: &str, steps: &str) -> String {
    let list =
        |object: &str| format!("(has({object}.status.{field}) ? {object}.status.{field} : [])");
    let (new, old) = (list("object"), list("oldObject"));
    format!(
        "{new}.all(n, n.{key} in {steps} || {old}.exists(o, o == n)) && \
         {old}.all(o, o.{key} in {steps} || {new}.exists(n, n == o))"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_has_the_token_and_no_other_credentials() {
        let endpoint = ApiEndpoint {
            server: "https://127.0.0.1:7445".to_owned(),
            certificate_authority_data: "Q0E=".to_owned(),
        };
        let kubeconfig: Value = serde_json::from_str(&endpoint.kubeconfig("secret")).unwrap();
        assert_eq!(kubeconfig["users"][0]["user"], json!({"token": "secret"}));
        assert_eq!(
            kubeconfig["clusters"][0]["cluster"]["server"],
            endpoint.server
        );
    }
}
