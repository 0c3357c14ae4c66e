//! Failures are reported, recorded, and rolled back if requested.

use std::time::Duration;

use kube::Client;
use outrigger_apiserver::auth::UserInfo;
use outrigger_release::{ActionError, Cluster, Error, Options, Rejection, execute};
use serde_json::json;

use crate::charts::{WEB_OBJECTS, chart, web};
use crate::harness::{Harness, deploy, plan_for, set};

const MAP: &str = "/api/v1/namespaces/default/configmaps/web-map";

#[tokio::test]
async fn a_field_of_another_manager_is_a_conflict_unless_forced() {
    let harness = Harness::start().await;
    let mut options = Options::default();
    harness.deploy(&web(), &json!({}), &options).await.unwrap();
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-map"}, "data": {"text": "theirs"}});
    harness.apply_as("mallory", MAP, &theirs).await;
    let values = json!({"map": "two"});
    let error = harness.deploy(&web(), &values, &options).await.unwrap_err();
    let text = error.full_message();
    assert!(
        text.starts_with("conflict occurred while applying object ConfigMap/default/web-map: Apply failed with 1 conflict: conflict with \"mallory\""),
        "{text}"
    );
    assert!(error.hint().is_some());
    assert_eq!(harness.statuses().await, ["1 deployed", "2 failed"]);
    options.conflicts = outrigger_release::Conflicts::Take;
    let outcome = harness.deploy(&web(), &values, &options).await.unwrap();
    // The failed revision was resumed.
    assert_eq!(outcome.revision, 2);
    assert_eq!(harness.get(MAP).await.unwrap()["data"]["text"], "two");
    assert_eq!(harness.statuses().await, ["1 superseded", "2 deployed"]);
    harness.stop().await;
}

#[tokio::test]
async fn a_rejected_plan_changes_and_records_nothing() {
    let harness = Harness::start().await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-map"}, "data": {"text": "theirs"}});
    harness.apply_as("mallory", MAP, &theirs).await;
    let mut options = Options::default();
    let error = harness.deploy(&web(), &json!({}), &options).await;
    assert!(matches!(
        error,
        Err(ActionError::Rejected(Rejection::InvalidOwnership { .. }))
    ));
    assert!(harness.statuses().await.is_empty());
    assert_eq!(harness.objects().await, set(&["configmaps/web-map"]));
    options.take_ownership = true;
    harness.deploy(&web(), &json!({}), &options).await.unwrap();
    assert_eq!(harness.get(MAP).await.unwrap()["data"]["text"], "one");
    harness.stop().await;
}

#[tokio::test]
async fn all_objects_in_a_missing_namespace_are_reported_before_anything_is_changed() {
    let far = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, namespace: far}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: b, namespace: far}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: near}
";
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: far}\n";
    let early = "\
apiVersion: v1
kind: Namespace
metadata: {name: far, annotations: {helm.sh/hook: pre-install}}
";
    let with = |extra| chart(&[("templates/far.yaml", far), ("templates/more.yaml", extra)]);
    let harness = Harness::start().await;
    let options = Options::default();
    let error = harness
        .deploy(&with("# nothing"), &json!({}), &options)
        .await
        .unwrap_err();
    assert_eq!(
        error.full_message(),
        "unable to continue with install: ServiceAccount/far/a: namespaces \"far\" not found\n\
         Role/far/b: namespaces \"far\" not found"
    );
    assert!(harness.statuses().await.is_empty());
    assert!(harness.objects().await.is_empty());
    // The namespace is part of the release.
    harness
        .deploy(&with(namespace), &json!({}), &options)
        .await
        .unwrap();
    harness.stop().await;
    // A hook creates the namespace.
    let harness = Harness::start().await;
    harness
        .deploy(&with(early), &json!({}), &options)
        .await
        .unwrap();
    harness.stop().await;
}

#[tokio::test]
async fn an_object_created_after_the_plan_is_not_overwritten() {
    let harness = Harness::start().await;
    let options = Options::default();
    let (cluster, id) = (&harness.cluster, &harness.id);
    let plan = plan_for(cluster, id, &web(), &json!({}), &options).await;
    let plan = plan.unwrap().unwrap();
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-map"}, "data": {"other": "theirs"}});
    harness.apply_as("mallory", MAP, &theirs).await;
    let error = execute(cluster, plan, &options, &|_| {}).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(
        error.full_message().contains("ConfigMap/default/web-map"),
        "{error:?}"
    );
    assert_eq!(
        harness.get(MAP).await.unwrap()["data"],
        json!({"other": "theirs"})
    );
    // The next plan observes it and is rejected.
    let rejection = plan_for(cluster, id, &web(), &json!({}), &options).await;
    assert!(matches!(
        rejection.unwrap(),
        Err(Rejection::InvalidOwnership { .. })
    ));
    harness.stop().await;
}

#[tokio::test]
async fn an_immutable_field_reported_by_the_server_has_a_hint() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = chart(&[(
        "templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {x: {{ .Values.x | quote }}}\n",
    )]);
    harness
        .deploy(&chart, &json!({"x": "1"}), &options)
        .await
        .unwrap();
    let error = harness.deploy(&chart, &json!({"x": "2"}), &options).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ActionError::Apply(_)), "{error:?}");
    let text = error.full_message();
    assert!(text.contains("immutable"), "{text}");
    assert!(error.hint().unwrap().contains("ConfigMap/default/a"));
    harness.stop().await;
}

#[tokio::test]
async fn a_failed_upgrade_is_rolled_back() {
    let harness = Harness::start().await;
    let options = Options {
        timeout: Duration::from_millis(700),
        rollback_on_failure: true,
        ..Options::default()
    };
    harness.deploy(&web(), &json!({}), &options).await.unwrap();
    let values = json!({"map": "two", "image": "nginx:2", "simulate": "never-ready"});
    let error = harness.deploy(&web(), &values, &options).await.unwrap_err();
    assert!(
        matches!(error, ActionError::RolledBack { revision: 3, .. }),
        "{error}"
    );
    let text = error.full_message();
    assert!(
        text.contains("Deployment/default/web not ready. status: InProgress"),
        "{text}"
    );
    assert_eq!(harness.get(MAP).await.unwrap()["data"]["text"], "one");
    assert_eq!(
        harness.statuses().await,
        ["1 superseded", "2 failed", "3 deployed"]
    );
    harness.stop().await;
}

#[tokio::test]
async fn a_failed_install_is_uninstalled_if_requested() {
    let harness = Harness::start().await;
    let options = Options {
        timeout: Duration::from_millis(300),
        rollback_on_failure: true,
        ..Options::default()
    };
    let values = json!({"simulate": "never-ready"});
    let error = harness.deploy(&web(), &values, &options).await.unwrap_err();
    assert!(matches!(error, ActionError::Uninstalled { .. }), "{error}");
    assert!(harness.objects().await.is_empty());
    assert!(harness.statuses().await.is_empty());
    harness.stop().await;
}

#[tokio::test]
async fn a_failed_install_is_retried_at_its_revision() {
    let harness = Harness::start().await;
    let options = Options {
        timeout: Duration::from_millis(200),
        ..Options::default()
    };
    let values = json!({"simulate": "never-ready"});
    for _ in 0..2 {
        let error = harness.deploy(&web(), &values, &options).await.unwrap_err();
        assert!(matches!(error, ActionError::Wait(_)), "{error}");
        assert_eq!(harness.statuses().await, ["1 failed"]);
    }
    let options = Options::default();
    harness.deploy(&web(), &json!({}), &options).await.unwrap();
    assert_eq!(harness.statuses().await, ["1 failed", "2 deployed"]);
    assert_eq!(harness.objects().await, set(&WEB_OBJECTS));
    harness.stop().await;
}

#[tokio::test]
async fn missing_permissions_are_reported_with_a_hint() {
    let harness = Harness::start().await;
    let nobody = UserInfo {
        name: "nobody".to_owned(),
        groups: vec!["system:authenticated".to_owned()],
        ..UserInfo::default()
    };
    let client = Client::new(harness.service().as_user(nobody), "default");
    let cluster = Cluster::new(client);
    let options = Options::default();
    let error = deploy(&cluster, &harness.id, &web(), &json!({}), &options, &|_| {}).await;
    let error = error.unwrap_err();
    let cluster_error = error.cluster_error().unwrap();
    assert!(cluster_error.is_forbidden() && !cluster_error.is_transient());
    let text = error.full_message();
    assert!(
        text.contains("nobody") && text.contains("cannot list resource \"secrets\""),
        "{text}"
    );
    assert!(error.hint().unwrap().contains("role"));
    harness.stop().await;
}

#[tokio::test]
async fn an_unknown_kind_is_reported_before_anything_is_changed() {
    let harness = Harness::start().await;
    let chart = chart(&[(
        "templates/a.yaml",
        "{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}",
    )]);
    let error = harness
        .deploy(&chart, &json!({}), &Options::default())
        .await;
    let Err(ActionError::Cluster(Error::UnknownKinds(unknown))) = error else {
        panic!("{error:?}");
    };
    assert_eq!(unknown[0].kind, "Boat");
    assert!(harness.statuses().await.is_empty());
    harness.stop().await;
}

#[tokio::test]
async fn a_failed_template_changes_nothing() {
    let harness = Harness::start().await;
    let chart = chart(&[("templates/a.yaml", "{{ fail \"no good\" }}")]);
    let error = harness
        .deploy(&chart, &json!({}), &Options::default())
        .await;
    let text = error.unwrap_err().full_message();
    assert!(text.contains("no good"), "{text}");
    assert!(harness.statuses().await.is_empty());
    harness.stop().await;
}

#[tokio::test]
async fn plans_contain_no_secrets() {
    let harness = Harness::start().await;
    let options = Options::default();
    let values = json!({"password": "hunter3"});
    let plan = plan_for(&harness.cluster, &harness.id, &web(), &values, &options).await;
    let plan = plan.unwrap().unwrap();
    let text = format!("{plan} {plan:?} {}", serde_json::to_string(&plan).unwrap());
    assert!(!text.contains("hunter"), "{text}");
    harness.stop().await;
}

#[tokio::test]
async fn the_name_of_an_object_is_one_segment_of_the_url() {
    let harness = Harness::start().await;
    let victim = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "victim"}});
    let path = "/api/v1/namespaces/default/configmaps";
    harness
        .send("POST", path, "application/json", &victim)
        .await;
    for name in [
        "victim?dryRun=All",
        "victim#x",
        "../secrets/victim",
        "victim/status",
    ] {
        let map = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name:?}}}}}\n");
        let (cluster, connection) = harness.recording();
        let (values, options) = (json!({}), Options::default());
        let chart = chart(&[("templates/m.yaml", &map)]);
        let deployed = deploy(&cluster, &harness.id, &chart, &values, &options, &|_| {});
        assert!(deployed.await.is_err());
        let requests = connection.take_requests();
        let is_victim = |request: &&String| {
            request.contains("/configmaps/victim?")
                || request.ends_with("/configmaps/victim")
                || request.contains("/configmaps/victim/")
                || request.contains("/configmaps/../")
        };
        assert_eq!(requests.iter().find(is_victim), None, "{requests:#?}");
        assert!(
            requests
                .iter()
                .any(|request| request.contains("victim%") || request.contains("%2Fvictim")),
            "{requests:#?}"
        );
    }
    harness.stop().await;
}
