//! Admission of writes by the objects of the cluster, in process.

use std::time::Duration;

use futures::future::join_all;
use outrigger_apiserver::auth::UserInfo;
use outrigger_apiserver::loopback::{Client, Patch, ResourcePath};
use outrigger_apiserver::server::{Options, Server};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

async fn server() -> (Server, Client) {
    let server = Server::open(Options::in_memory()).await.unwrap();
    server.run_controllers();
    let client = Client::new(server.service(), "test");
    (server, client)
}

fn path(plural: &str, name: &str) -> ResourcePath {
    ResourcePath::all("v1", plural)
        .in_namespace("default")
        .named(name)
}

/// Creates a quota and waits until its usage is known.
async fn quota(client: &Client, hard: Value, used: &Value) {
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
    client
        .create(&path("resourcequotas", ""), &quota)
        .await
        .unwrap();
    until_used(client, used).await;
}

async fn until_used(client: &Client, used: &Value) {
    let path = path("resourcequotas", "q");
    let is_met =
        |quota: Option<&Value>| quota.is_some_and(|quota| quota["status"]["used"] == *used);
    let waited = tokio::time::timeout(SOON, client.await_condition(&path, is_met)).await;
    let state = client.get(&path).await;
    assert!(matches!(waited, Ok(Ok(()))), "{state:?} is not {used}");
}

async fn create_secret(client: &Client, name: &str) -> Result<Value, String> {
    let secret = json!({"metadata": {"name": name}});
    let created = client.create(&path("secrets", ""), &secret).await;
    created.map_err(|error| error.to_string())
}

#[tokio::test]
async fn concurrent_writers_cannot_exceed_a_quota() {
    let (server, client) = server().await;
    quota(&client, json!({"secrets": "5"}), &json!({"secrets": "0"})).await;
    let names: Vec<String> = (0..40).map(|i| format!("s{i}")).collect();
    let results = join_all(names.iter().map(|name| create_secret(&client, name))).await;
    let created = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(created, 5, "{results:?}");
    let rejection = results.iter().find_map(|result| result.as_ref().err());
    assert!(
        rejection.is_some_and(|why| why.contains(
            "exceeded quota: q, requested: secrets=1, used: secrets=5, limited: secrets=5"
        )),
        "{rejection:?}"
    );
    until_used(&client, &json!({"secrets": "5"})).await;
    server.close().await;
}

#[tokio::test]
async fn deleted_objects_free_their_quota() {
    let (server, client) = server().await;
    quota(
        &client,
        json!({"count/secrets": "1"}),
        &json!({"count/secrets": "0"}),
    )
    .await;
    create_secret(&client, "a").await.unwrap();
    create_secret(&client, "b").await.unwrap_err();
    client
        .delete(&path("secrets", "a"), &json!({}))
        .await
        .unwrap();
    until_used(&client, &json!({"count/secrets": "0"})).await;
    create_secret(&client, "b").await.unwrap();
    server.close().await;
}

#[tokio::test]
async fn limit_ranges_change_and_reject_pods() {
    let (server, client) = server().await;
    let limits = json!({"metadata": {"name": "l"}, "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}},
    ]}});
    client
        .create(&path("limitranges", ""), &limits)
        .await
        .unwrap();
    let pod = |name: &str, cpu: Value| {
        json!({"metadata": {"name": name}, "spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"limits": cpu}},
        ]}})
    };
    let created = client
        .create(&path("pods", ""), &pod("a", json!({})))
        .await
        .unwrap();
    assert_eq!(
        created["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}})
    );
    let rejected = client
        .create(&path("pods", ""), &pod("b", json!({"cpu": "3"})))
        .await
        .unwrap_err();
    let why = "maximum cpu usage per Container is 2, but limit is 3";
    assert!(rejected.to_string().contains(why), "{rejected}");
    server.close().await;
}

/// Counts, resources and scopes are followed through creations, updates and deletions.
#[tokio::test]
async fn usage_of_a_quota_follows_every_change() {
    let (server, client) = server().await;
    let hard = json!({"pods": "9", "requests.cpu": "9", "services.nodeports": "9"});
    let used = |pods: &str, cpu: &str, ports: &str| json!({"pods": pods, "requests.cpu": cpu, "services.nodeports": ports});
    quota(&client, hard, &used("0", "0", "0")).await;
    for name in ["a", "b"] {
        let pod = json!({"metadata": {"name": name}, "spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}},
        ]}});
        client.create(&path("pods", ""), &pod).await.unwrap();
    }
    let service =
        json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 1}]}});
    client
        .create(&path("services", ""), &service)
        .await
        .unwrap();
    until_used(&client, &used("2", "1", "1")).await;
    let ended = json!({"status": {"phase": "Succeeded"}});
    client
        .patch_status(&path("pods", "a"), &ended)
        .await
        .unwrap();
    let internal = json!({"spec": {"type": "ClusterIP"}});
    client
        .patch(&path("services", "s"), Patch::Merge, &internal)
        .await
        .unwrap();
    until_used(&client, &used("1", "500m", "0")).await;
    client.delete(&path("pods", "b"), &json!({})).await.unwrap();
    until_used(&client, &used("0", "0", "0")).await;
    let more = json!({"spec": {"hard": {"pods": "9", "count/services": "5"}}});
    client
        .patch(&path("resourcequotas", "q"), Patch::Merge, &more)
        .await
        .unwrap();
    let used =
        json!({"pods": "0", "requests.cpu": "0", "services.nodeports": "0", "count/services": "2"});
    until_used(&client, &used).await;
    server.close().await;
}

#[tokio::test]
async fn policies_check_what_the_user_of_a_request_may_do() {
    let (server, client) = server().await;
    let registration = |plural: &str| ResourcePath::all("admissionregistration.k8s.io/v1", plural);
    let policy = json!({
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
            }]},
            "validations": [{
                "expression": "authorizer.requestResource.check('approve').allowed() && !authorizer.serviceAccount('default', 'nobody').path('/metrics').check('get').allowed()",
                "message": "needs approval",
            }],
        },
    });
    let policies = registration("validatingadmissionpolicies");
    client.create(&policies, &policy).await.unwrap();
    let binding = json!({
        "metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]},
    });
    let bindings = registration("validatingadmissionpolicybindings");
    client.create(&bindings, &binding).await.unwrap();
    for (user, verbs) in [
        ("jane", json!(["create"])),
        ("john", json!(["create", "approve"])),
    ] {
        let rbac = |plural: &str| {
            ResourcePath::all("rbac.authorization.k8s.io/v1", plural).in_namespace("default")
        };
        let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
        let role = json!({"metadata": {"name": user}, "rules": rules});
        client.create(&rbac("roles"), &role).await.unwrap();
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": user},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        });
        client
            .create(&rbac("rolebindings"), &binding)
            .await
            .unwrap();
        let user_info = UserInfo {
            name: user.to_owned(),
            ..UserInfo::default()
        };
        let own = Client::new(server.service().as_user(user_info), "test");
        let object = json!({"metadata": {"name": user}});
        let created = own.create(&path("configmaps", ""), &object).await;
        if user == "john" {
            created.unwrap();
        } else {
            let error = created.unwrap_err().to_string();
            assert!(error.ends_with("denied request: needs approval"), "{error}");
        }
    }
    server.close().await;
}
