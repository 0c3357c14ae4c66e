//! The server's own controllers, in process: garbage collection, gathered rules, token Secrets.

use std::time::Duration;

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

fn path(api_version: &str, plural: &str, name: &str) -> ResourcePath {
    ResourcePath::all(api_version, plural)
        .in_namespace("default")
        .named(name)
}

fn config(name: &str) -> ResourcePath {
    path("v1", "configmaps", name)
}

async fn until(client: &Client, path: &ResourcePath, is_met: impl Fn(Option<&Value>) -> bool) {
    let waited = tokio::time::timeout(SOON, client.await_condition(path, is_met)).await;
    let state = client.get(path).await;
    assert!(matches!(waited, Ok(Ok(()))), "{}: {state:?}", path.path());
}

/// A ConfigMap that belongs to others.
async fn create(client: &Client, name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            let metadata = &owner["metadata"];
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"], "blockOwnerDeletion": true})
        })
        .collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": references}});
    client.create(&config(""), &object).await.unwrap()
}

async fn delete(client: &Client, name: &str, policy: &str) {
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy});
    client.delete(&config(name), &options).await.unwrap();
}

#[tokio::test]
async fn deletes_dependents_with_their_owner() {
    let (server, client) = server().await;
    let a = create(&client, "a", &[]).await;
    let b = create(&client, "b", &[&a]).await;
    create(&client, "c", &[&b]).await;
    let other = create(&client, "other", &[]).await;
    create(&client, "shared", &[&a, &other]).await;
    delete(&client, "a", "Background").await;
    until(&client, &config("b"), |object| object.is_none()).await;
    until(&client, &config("c"), |object| object.is_none()).await;
    until(&client, &config("shared"), |object| {
        let references = object.and_then(|object| object["metadata"]["ownerReferences"].as_array());
        references
            .is_some_and(|references| references.len() == 1 && references[0]["name"] == "other")
    })
    .await;
    server.close().await;
}

#[tokio::test]
async fn a_foreground_deletion_deletes_the_owner_last() {
    let (server, client) = server().await;
    let a = create(&client, "a", &[]).await;
    let b = create(&client, "b", &[&a]).await;
    let held = json!({"metadata": {"finalizers": ["example.org/hold"]}});
    create(&client, "c", &[&b]).await;
    client
        .patch(&config("c"), Patch::Merge, &held)
        .await
        .unwrap();
    delete(&client, "a", "Foreground").await;
    until(&client, &config("c"), |object| {
        object.is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string())
    })
    .await;
    let a = client.get(&config("a")).await.unwrap();
    assert_eq!(a["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let b = client.get(&config("b")).await.unwrap();
    assert_eq!(b["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let free = json!({"metadata": {"finalizers": null}});
    client
        .patch(&config("c"), Patch::Merge, &free)
        .await
        .unwrap();
    until(&client, &config("a"), |object| object.is_none()).await;
    assert!(client.get(&config("b")).await.unwrap_err().is_not_found());
    server.close().await;
}

#[tokio::test]
async fn keeps_orphaned_dependents() {
    let (server, client) = server().await;
    let a = create(&client, "a", &[]).await;
    create(&client, "b", &[&a]).await;
    delete(&client, "a", "Orphan").await;
    until(&client, &config("a"), |object| object.is_none()).await;
    let b = client.get(&config("b")).await.unwrap();
    assert_eq!(b["metadata"]["ownerReferences"], Value::Null);
    server.close().await;
}

#[tokio::test]
async fn deletes_an_object_whose_owner_never_existed() {
    let (server, client) = server().await;
    let ghost = json!({"metadata": {"name": "ghost", "uid": "no-such-uid"}});
    create(&client, "a", &[&ghost]).await;
    until(&client, &config("a"), |object| object.is_none()).await;
    server.close().await;
}

#[tokio::test]
async fn resumes_garbage_collection_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(Options::in_folder(folder.path()))
        .await
        .unwrap();
    let client = Client::new(server.service(), "test");
    let a = create(&client, "a", &[]).await;
    create(&client, "b", &[&a]).await;
    delete(&client, "a", "Background").await;
    server.close().await;
    let server = Server::open(Options::in_folder(folder.path()))
        .await
        .unwrap();
    let client = Client::new(server.service(), "test");
    assert!(client.get(&config("b")).await.is_ok());
    server.run_controllers();
    until(&client, &config("b"), |object| object.is_none()).await;
    server.close().await;
}

#[tokio::test]
async fn aggregates_the_rules_of_cluster_roles() {
    let (server, client) = server().await;
    let role =
        |name: &str| ResourcePath::all("rbac.authorization.k8s.io/v1", "clusterroles").named(name);
    let widgets = json!({
        "metadata": {"name": "widgets", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": ["example.org"], "resources": ["widgets"], "verbs": ["get"]}],
    });
    client.create(&role(""), &widgets).await.unwrap();
    for name in ["view", "edit", "admin"] {
        until(&client, &role(name), |object| {
            let rules = object.and_then(|object| object["rules"].as_array());
            rules.is_some_and(|rules| rules.contains(&widgets["rules"][0]))
        })
        .await;
    }
    server.close().await;
}

#[tokio::test]
async fn adds_the_token_to_a_service_account_token_secret() {
    let (server, client) = server().await;
    let secret = json!({
        "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "default"}},
        "type": "kubernetes.io/service-account-token",
    });
    let at = path("v1", "secrets", "t");
    client.create(&at, &secret).await.unwrap();
    until(&client, &at, |object| {
        object.is_some_and(|object| object["data"]["token"].is_string())
    })
    .await;
    client
        .delete(&path("v1", "serviceaccounts", "default"), &Value::Null)
        .await
        .unwrap();
    until(&client, &at, |object| object.is_none()).await;
    server.close().await;
}

#[tokio::test]
async fn authorizes_in_process_requests_of_other_users() {
    let (server, _) = server().await;
    let anonymous = Client::new(server.service().as_user(UserInfo::anonymous()), "test");
    let error = anonymous.get(&config("a")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the server returned 403: configmaps "a" is forbidden: User "system:anonymous" cannot get resource "configmaps" in API group "" in the namespace "default""#
    );
    server.close().await;
}

#[tokio::test]
async fn a_namespace_keeps_other_objects_while_a_pod_remains() {
    let (server, client) = server().await;
    let namespaces = |name: &str| ResourcePath::all("v1", "namespaces").named(name);
    let inside = |plural: &str, name: &str| {
        ResourcePath::all("v1", plural)
            .in_namespace("n")
            .named(name)
    };
    let namespace = json!({"metadata": {"name": "n"}});
    client.create(&namespaces(""), &namespace).await.unwrap();
    let config = json!({"metadata": {"name": "c"}});
    client
        .create(&inside("configmaps", ""), &config)
        .await
        .unwrap();
    let pod = json!({
        "metadata": {"name": "p", "finalizers": ["example.org/hold"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    client.create(&inside("pods", ""), &pod).await.unwrap();
    client.delete(&namespaces("n"), &json!({})).await.unwrap();
    until(&client, &namespaces("n"), |object| {
        let conditions = object.and_then(|object| object["status"]["conditions"].as_array());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| {
            condition["type"] == "NamespaceFinalizersRemaining"
                && condition["message"] == "Some content in the namespace has finalizers remaining: example.org/hold in 1 resource instances"
        })
    })
    .await;
    client.get(&inside("configmaps", "c")).await.unwrap();
    let released = json!({"metadata": {"finalizers": null}});
    client
        .patch(&inside("pods", "p"), Patch::Merge, &released)
        .await
        .unwrap();
    until(&client, &namespaces("n"), |object| object.is_none()).await;
    server.close().await;
}

#[tokio::test]
async fn default_objects_of_a_namespace_are_restored() {
    let (server, client) = server().await;
    let certificates = config("kube-root-ca.crt");
    let original = client.get(&certificates).await.unwrap();
    let change = json!({"data": {"ca.crt": "changed"}});
    client
        .patch(&certificates, Patch::Merge, &change)
        .await
        .unwrap();
    until(&client, &certificates, |object| {
        object.is_some_and(|object| object["data"] == original["data"])
    })
    .await;
    for (path, uid) in [
        (certificates, original["metadata"]["uid"].clone()),
        (path("v1", "serviceaccounts", "default"), Value::Null),
    ] {
        client.delete(&path, &json!({})).await.unwrap();
        until(&client, &path, |object| {
            object.is_some_and(|object| object["metadata"]["uid"] != uid)
        })
        .await;
    }
    server.close().await;
}

fn flow_control(plural: &str, name: &str) -> ResourcePath {
    ResourcePath::all("flowcontrol.apiserver.k8s.io/v1", plural).named(name)
}

#[tokio::test]
async fn a_flow_schema_without_its_priority_level_is_reported() {
    let (server, client) = server().await;
    let schema = json!({
        "metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "later"}},
    });
    let path = flow_control("flowschemas", "s");
    client
        .create(&flow_control("flowschemas", ""), &schema)
        .await
        .unwrap();
    let is_dangling = |status: &'static str| {
        move |schema: Option<&Value>| {
            schema.is_some_and(|schema| {
                let condition = &schema["status"]["conditions"][0];
                condition["type"] == "Dangling" && condition["status"] == status
            })
        }
    };
    until(&client, &path, is_dangling("True")).await;
    let level = json!({
        "metadata": {"name": "later"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
    });
    let levels = flow_control("prioritylevelconfigurations", "");
    client.create(&levels, &level).await.unwrap();
    until(&client, &path, is_dangling("False")).await;
    server.close().await;
}

#[tokio::test]
async fn mandatory_flow_schemas_and_priority_levels_are_restored() {
    let (server, client) = server().await;
    for plural in ["flowschemas", "prioritylevelconfigurations"] {
        let path = flow_control(plural, "catch-all");
        let old = client.get(&path).await.unwrap();
        client.delete(&path, &Value::Null).await.unwrap();
        until(&client, &path, |object| {
            object.is_some_and(|object| object["metadata"]["uid"] != old["metadata"]["uid"])
        })
        .await;
    }
    server.close().await;
}

#[tokio::test]
async fn a_namespace_is_deleted_with_an_object_that_waits_for_itself_in_the_foreground() {
    let (server, client) = server().await;
    let namespace = ResourcePath::all("v1", "namespaces").named("n");
    let object = json!({"metadata": {"name": "n"}});
    client.create(&namespace, &object).await.unwrap();
    let config = |name: &str| {
        ResourcePath::all("v1", "configmaps")
            .in_namespace("n")
            .named(name)
    };
    let object = json!({"metadata": {"name": "own"}});
    let own = client.create(&config(""), &object).await.unwrap();
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "own", "uid": own["metadata"]["uid"],
        "blockOwnerDeletion": true,
    });
    let change = json!({"metadata": {"ownerReferences": [reference]}});
    let patched = client.patch(&config("own"), Patch::Merge, &change).await;
    patched.unwrap();
    let options = json!({"propagationPolicy": "Foreground"});
    client.delete(&config("own"), &options).await.unwrap();
    client.delete(&namespace, &json!({})).await.unwrap();
    until(&client, &namespace, |namespace| namespace.is_none()).await;
    server.close().await;
}
