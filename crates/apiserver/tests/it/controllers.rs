//! The server's own controllers, in process: garbage collection, gathered rules, token Secrets.

use std::time::Duration;

use outrigger_apiserver::auth::Identity;
use outrigger_apiserver::local::{Local, Patch, Place};
use outrigger_apiserver::server::{Options, Server};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

async fn server() -> (Server, Local) {
    let server = Server::open(Options::in_memory()).await.unwrap();
    server.run_controllers();
    let local = Local::new(server.service(), "test");
    (server, local)
}

fn place(api_version: &str, plural: &str, name: &str) -> Place {
    Place::all(api_version, plural)
        .within("default")
        .named(name)
}

fn config(name: &str) -> Place {
    place("v1", "configmaps", name)
}

async fn until(local: &Local, place: &Place, is_wanted: impl Fn(Option<&Value>) -> bool) {
    let waited = tokio::time::timeout(SOON, local.await_condition(place, is_wanted)).await;
    let state = local.get(place).await;
    assert!(matches!(waited, Ok(Ok(()))), "{}: {state:?}", place.path());
}

/// A ConfigMap that belongs to others.
async fn create(local: &Local, name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            let metadata = &owner["metadata"];
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"], "blockOwnerDeletion": true})
        })
        .collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": references}});
    local.create(&config(""), &object).await.unwrap()
}

async fn delete(local: &Local, name: &str, policy: &str) {
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy});
    local.delete(&config(name), &options).await.unwrap();
}

#[tokio::test]
async fn dependents_go_with_their_owner() {
    let (server, local) = server().await;
    let a = create(&local, "a", &[]).await;
    let b = create(&local, "b", &[&a]).await;
    create(&local, "c", &[&b]).await;
    let other = create(&local, "other", &[]).await;
    create(&local, "shared", &[&a, &other]).await;
    delete(&local, "a", "Background").await;
    until(&local, &config("b"), |object| object.is_none()).await;
    until(&local, &config("c"), |object| object.is_none()).await;
    until(&local, &config("shared"), |object| {
        let references = object.and_then(|object| object["metadata"]["ownerReferences"].as_array());
        references
            .is_some_and(|references| references.len() == 1 && references[0]["name"] == "other")
    })
    .await;
    server.close().await;
}

#[tokio::test]
async fn a_deletion_in_the_foreground_ends_with_the_owner() {
    let (server, local) = server().await;
    let a = create(&local, "a", &[]).await;
    let b = create(&local, "b", &[&a]).await;
    let held = json!({"metadata": {"finalizers": ["example.org/hold"]}});
    create(&local, "c", &[&b]).await;
    local
        .patch(&config("c"), Patch::Merge, &held)
        .await
        .unwrap();
    delete(&local, "a", "Foreground").await;
    until(&local, &config("c"), |object| {
        object.is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string())
    })
    .await;
    let a = local.get(&config("a")).await.unwrap();
    assert_eq!(a["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let b = local.get(&config("b")).await.unwrap();
    assert_eq!(b["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let free = json!({"metadata": {"finalizers": null}});
    local
        .patch(&config("c"), Patch::Merge, &free)
        .await
        .unwrap();
    until(&local, &config("a"), |object| object.is_none()).await;
    assert!(local.get(&config("b")).await.unwrap_err().is_not_found());
    server.close().await;
}

#[tokio::test]
async fn orphans_stay() {
    let (server, local) = server().await;
    let a = create(&local, "a", &[]).await;
    create(&local, "b", &[&a]).await;
    delete(&local, "a", "Orphan").await;
    until(&local, &config("a"), |object| object.is_none()).await;
    let b = local.get(&config("b")).await.unwrap();
    assert_eq!(b["metadata"]["ownerReferences"], Value::Null);
    server.close().await;
}

#[tokio::test]
async fn an_owner_that_never_was_is_no_owner() {
    let (server, local) = server().await;
    let ghost = json!({"metadata": {"name": "ghost", "uid": "no-such-uid"}});
    create(&local, "a", &[&ghost]).await;
    until(&local, &config("a"), |object| object.is_none()).await;
    server.close().await;
}

#[tokio::test]
async fn what_was_to_go_goes_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(Options::in_folder(folder.path()))
        .await
        .unwrap();
    let local = Local::new(server.service(), "test");
    let a = create(&local, "a", &[]).await;
    create(&local, "b", &[&a]).await;
    delete(&local, "a", "Background").await;
    server.close().await;
    let server = Server::open(Options::in_folder(folder.path()))
        .await
        .unwrap();
    let local = Local::new(server.service(), "test");
    assert!(local.get(&config("b")).await.is_ok());
    server.run_controllers();
    until(&local, &config("b"), |object| object.is_none()).await;
    server.close().await;
}

#[tokio::test]
async fn a_role_gathers_rules() {
    let (server, local) = server().await;
    let role = |name: &str| Place::all("rbac.authorization.k8s.io/v1", "clusterroles").named(name);
    let widgets = json!({
        "metadata": {"name": "widgets", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": ["example.org"], "resources": ["widgets"], "verbs": ["get"]}],
    });
    local.create(&role(""), &widgets).await.unwrap();
    for name in ["view", "edit", "admin"] {
        until(&local, &role(name), |object| {
            let rules = object.and_then(|object| object["rules"].as_array());
            rules.is_some_and(|rules| rules.contains(&widgets["rules"][0]))
        })
        .await;
    }
    server.close().await;
}

#[tokio::test]
async fn a_token_secret_gets_its_token() {
    let (server, local) = server().await;
    let secret = json!({
        "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "default"}},
        "type": "kubernetes.io/service-account-token",
    });
    let at = place("v1", "secrets", "t");
    local.create(&at, &secret).await.unwrap();
    until(&local, &at, |object| {
        object.is_some_and(|object| object["data"]["token"].is_string())
    })
    .await;
    local
        .delete(&place("v1", "serviceaccounts", "default"), &Value::Null)
        .await
        .unwrap();
    until(&local, &at, |object| object.is_none()).await;
    server.close().await;
}

#[tokio::test]
async fn somebody_without_rights_is_refused_in_process_too() {
    let (server, _) = server().await;
    let nobody = Local::new(server.service().as_user(Identity::anonymous()), "test");
    let error = nobody.get(&config("a")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the server answered 403: configmaps "a" is forbidden: User "system:anonymous" cannot get resource "configmaps" in API group "" in the namespace "default""#
    );
    server.close().await;
}
