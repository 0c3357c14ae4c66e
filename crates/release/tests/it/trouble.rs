//! What goes wrong is told, recorded, and undone if that was asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use outrigger_apiserver::auth::Identity;
use outrigger_release::{Cluster, Error, Failure, Options, Refusal, execute};
use serde_json::json;

use crate::charts::{WEB_OBJECTS, chart, web};
use crate::stage::{Stage, deploy, plan_for};

const MAP: &str = "/api/v1/namespaces/default/configmaps/web-map";

#[tokio::test]
async fn a_field_of_another_manager_is_a_conflict_unless_it_is_taken() {
    let stage = Stage::open().await;
    let mut options = Options::default();
    stage.deploy(&web(), &json!({}), &options).await.unwrap();
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-map"}, "data": {"text": "theirs"}});
    stage.apply_as("mallory", MAP, &theirs).await;
    let values = json!({"map": "two"});
    let failure = stage.deploy(&web(), &values, &options).await.unwrap_err();
    let text = failure.text();
    assert!(
        text.starts_with("conflict occurred while applying object ConfigMap/default/web-map: Apply failed with 1 conflict: conflict with \"mallory\""),
        "{text}"
    );
    assert!(failure.hint().is_some());
    assert_eq!(stage.statuses().await, ["1 deployed", "2 failed"]);
    options.force = true;
    let outcome = stage.deploy(&web(), &values, &options).await.unwrap();
    // The failed attempt was gone on with.
    assert_eq!(outcome.revision, 2);
    assert_eq!(stage.get(MAP).await.unwrap()["data"]["text"], "two");
    assert_eq!(stage.statuses().await, ["1 superseded", "2 deployed"]);
    stage.close().await;
}

#[tokio::test]
async fn nothing_is_changed_or_recorded_if_the_plan_is_refused() {
    let stage = Stage::open().await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-map"}, "data": {"text": "theirs"}});
    stage.apply_as("mallory", MAP, &theirs).await;
    let mut options = Options::default();
    let failure = stage.deploy(&web(), &json!({}), &options).await;
    assert!(matches!(
        failure,
        Err(Failure::Refused(Refusal::Foreign { .. }))
    ));
    assert!(stage.statuses().await.is_empty());
    assert_eq!(
        stage.objects().await,
        BTreeSet::from(["configmaps/web-map".to_owned()])
    );
    options.take_ownership = true;
    stage.deploy(&web(), &json!({}), &options).await.unwrap();
    assert_eq!(stage.get(MAP).await.unwrap()["data"]["text"], "one");
    stage.close().await;
}

#[tokio::test]
async fn all_objects_for_a_namespace_that_is_not_there_are_named_before_anything_is_done() {
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
    let stage = Stage::open().await;
    let options = Options::default();
    let failure = stage
        .deploy(&with("# nothing"), &json!({}), &options)
        .await
        .unwrap_err();
    assert_eq!(
        failure.text(),
        "unable to continue with install: ServiceAccount/far/a: namespaces \"far\" not found\n\
         Role/far/b: namespaces \"far\" not found"
    );
    assert!(stage.statuses().await.is_empty());
    assert!(stage.objects().await.is_empty());
    // It comes with the release.
    stage
        .deploy(&with(namespace), &json!({}), &options)
        .await
        .unwrap();
    stage.close().await;
    // A hook makes it.
    let stage = Stage::open().await;
    stage
        .deploy(&with(early), &json!({}), &options)
        .await
        .unwrap();
    stage.close().await;
}

#[tokio::test]
async fn an_object_that_came_after_the_look_is_not_taken() {
    let stage = Stage::open().await;
    let options = Options::default();
    let (cluster, id) = (&stage.cluster, &stage.id);
    let plan = plan_for(cluster, id, &web(), &json!({}), &options).await;
    let plan = plan.unwrap().unwrap();
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-map"}, "data": {"other": "theirs"}});
    stage.apply_as("mallory", MAP, &theirs).await;
    let failure = execute(cluster, plan, &options, &|_| {}).await.unwrap_err();
    assert!(failure.is_transient(), "{failure:?}");
    assert!(
        failure.text().contains("ConfigMap/default/web-map"),
        "{failure:?}"
    );
    assert_eq!(
        stage.get(MAP).await.unwrap()["data"],
        json!({"other": "theirs"})
    );
    // The next look sees it, and says whose it is not.
    let refused = plan_for(cluster, id, &web(), &json!({}), &options).await;
    assert!(matches!(refused.unwrap(), Err(Refusal::Foreign { .. })));
    stage.close().await;
}

#[tokio::test]
async fn an_immutable_field_that_only_the_server_knows_has_a_hint() {
    let stage = Stage::open().await;
    let options = Options::default();
    let chart = chart(&[(
        "templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {x: {{ .Values.x | quote }}}\n",
    )]);
    stage
        .deploy(&chart, &json!({"x": "1"}), &options)
        .await
        .unwrap();
    let failure = stage.deploy(&chart, &json!({"x": "2"}), &options).await;
    let failure = failure.unwrap_err();
    assert!(matches!(failure, Failure::Apply(_)), "{failure:?}");
    let text = failure.text();
    assert!(text.contains("immutable"), "{text}");
    assert!(failure.hint().unwrap().contains("ConfigMap/default/a"));
    stage.close().await;
}

#[tokio::test]
async fn a_failed_upgrade_goes_back_to_the_last_good_revision() {
    let stage = Stage::open().await;
    let options = Options {
        timeout: Duration::from_millis(700),
        rollback_on_failure: true,
        ..Options::default()
    };
    stage.deploy(&web(), &json!({}), &options).await.unwrap();
    let values = json!({"map": "two", "image": "nginx:2", "simulate": "never-ready"});
    let failure = stage.deploy(&web(), &values, &options).await.unwrap_err();
    assert!(
        matches!(failure, Failure::RolledBack { revision: 3, .. }),
        "{failure}"
    );
    let text = failure.text();
    assert!(
        text.contains("Deployment/default/web not ready. status: InProgress"),
        "{text}"
    );
    assert_eq!(stage.get(MAP).await.unwrap()["data"]["text"], "one");
    assert_eq!(
        stage.statuses().await,
        ["1 superseded", "2 failed", "3 deployed"]
    );
    stage.close().await;
}

#[tokio::test]
async fn a_failed_installation_is_removed_if_asked_to() {
    let stage = Stage::open().await;
    let options = Options {
        timeout: Duration::from_millis(300),
        rollback_on_failure: true,
        ..Options::default()
    };
    let values = json!({"simulate": "never-ready"});
    let failure = stage.deploy(&web(), &values, &options).await.unwrap_err();
    assert!(matches!(failure, Failure::Uninstalled { .. }), "{failure}");
    assert!(stage.objects().await.is_empty());
    assert!(stage.statuses().await.is_empty());
    stage.close().await;
}

#[tokio::test]
async fn a_failed_installation_is_tried_again_at_its_revision() {
    let stage = Stage::open().await;
    let options = Options {
        timeout: Duration::from_millis(200),
        ..Options::default()
    };
    let values = json!({"simulate": "never-ready"});
    for _ in 0..2 {
        let failure = stage.deploy(&web(), &values, &options).await.unwrap_err();
        assert!(matches!(failure, Failure::Unhealthy(_)), "{failure}");
        assert_eq!(stage.statuses().await, ["1 failed"]);
    }
    let options = Options::default();
    stage.deploy(&web(), &json!({}), &options).await.unwrap();
    assert_eq!(stage.statuses().await, ["1 failed", "2 deployed"]);
    let all: BTreeSet<String> = WEB_OBJECTS.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(stage.objects().await, all);
    stage.close().await;
}

#[tokio::test]
async fn without_rights_it_is_said_what_may_not_be_done() {
    let stage = Stage::open().await;
    let nobody = Identity {
        name: "nobody".to_owned(),
        groups: vec!["system:authenticated".to_owned()],
        ..Identity::default()
    };
    let client = Client::new(stage.service().as_user(nobody), "default");
    let cluster = Cluster::new(client);
    let options = Options::default();
    let failure = deploy(&cluster, &stage.id, &web(), &json!({}), &options, &|_| {}).await;
    let failure = failure.unwrap_err();
    let error = failure.cluster_error().unwrap();
    assert!(error.is_forbidden() && !error.is_transient());
    let text = failure.text();
    assert!(
        text.contains("nobody") && text.contains("cannot list resource \"secrets\""),
        "{text}"
    );
    assert!(failure.hint().unwrap().contains("role"));
    stage.close().await;
}

#[tokio::test]
async fn an_unknown_kind_is_refused_in_helms_words() {
    let stage = Stage::open().await;
    let chart = chart(&[(
        "templates/a.yaml",
        "{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}",
    )]);
    let failure = stage.deploy(&chart, &json!({}), &Options::default()).await;
    let Err(Failure::Cluster(Error::UnknownKinds(unknown))) = failure else {
        panic!("{failure:?}");
    };
    assert_eq!(unknown[0].kind, "Boat");
    assert!(stage.statuses().await.is_empty());
    stage.close().await;
}

#[tokio::test]
async fn a_template_that_fails_changes_nothing() {
    let stage = Stage::open().await;
    let chart = chart(&[("templates/a.yaml", "{{ fail \"no good\" }}")]);
    let failure = stage.deploy(&chart, &json!({}), &Options::default()).await;
    let text = failure.unwrap_err().text();
    assert!(text.contains("no good"), "{text}");
    assert!(stage.statuses().await.is_empty());
    stage.close().await;
}

#[tokio::test]
async fn nothing_secret_is_in_debug_texts_of_a_run() {
    let stage = Stage::open().await;
    let options = Options::default();
    let values = json!({"password": "hunter3"});
    let plan = plan_for(&stage.cluster, &stage.id, &web(), &values, &options).await;
    let plan = plan.unwrap().unwrap();
    let text = format!("{plan} {plan:?} {}", serde_json::to_string(&plan).unwrap());
    assert!(!text.contains("hunter"), "{text}");
    stage.close().await;
}
