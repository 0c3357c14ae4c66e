//! The life of a release: installed, upgraded, repaired, rolled back, removed.

use std::collections::BTreeSet;

use outrigger_release::{Action, Change, Options, Outcome, drift, from_manifests, load_history};
use serde_json::{Value, json};

use crate::charts::{WEB_OBJECTS, chart, web};
use crate::stage::{Stage, deploy, plan_for};

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

const MAP: &str = "/api/v1/namespaces/default/configmaps/web-map";

#[tokio::test]
async fn an_installation_is_done_when_all_is_healthy_and_recorded() {
    let stage = Stage::open().await;
    let outcome: Outcome = stage
        .deploy(&web(), &json!({}), &Options::default())
        .await
        .unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Install, 1));
    assert_eq!(outcome.notes.as_deref(), Some("Revision 1"));
    assert_eq!(outcome.inventory.len(), 4);
    assert_eq!(stage.objects().await, set(&WEB_OBJECTS));
    assert_eq!(stage.statuses().await, ["1 deployed"]);
    let deployment = "/apis/apps/v1/namespaces/default/deployments/web";
    let deployment = stage.get(deployment).await.unwrap();
    assert_eq!(deployment["status"]["readyReplicas"], 1);
    assert_eq!(
        deployment["metadata"]["annotations"]["meta.helm.sh/release-name"],
        "web"
    );
    stage.close().await;
}

#[tokio::test]
async fn the_same_again_changes_nothing_and_makes_no_revision() {
    let stage = Stage::open().await;
    let options = Options::default();
    let chart = web();
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    let before = stage.get(MAP).await.unwrap();
    let outcome = stage.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.changed), (Action::Nothing, 0));
    assert_eq!(stage.get(MAP).await.unwrap(), before);
    assert_eq!(stage.statuses().await, ["1 deployed"]);
    stage.close().await;
}

#[tokio::test]
async fn an_upgrade_writes_what_changed_and_takes_away_what_is_not_wanted() {
    let stage = Stage::open().await;
    let options = Options::default();
    let chart = web();
    stage
        .deploy(&chart, &json!({"extra": "more"}), &options)
        .await
        .unwrap();
    let values = json!({"map": "two", "service": false});
    let plan = plan_for(&stage.cluster, &stage.id, &chart, &values, &options).await;
    let plan = plan.unwrap().unwrap();
    assert_eq!(plan.count(Change::Update), 1);
    assert_eq!(plan.count(Change::Unchanged), 2);
    assert_eq!(plan.count(Change::Prune), 1);
    let paths: Vec<&str> = plan
        .objects
        .iter()
        .flat_map(|step| &step.fields)
        .map(|f| f.path.as_str())
        .collect();
    assert_eq!(paths, [".data.text", ".data.extra"]);
    let outcome = stage.deploy(&chart, &values, &options).await.unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Upgrade, 2));
    assert_eq!(
        stage.objects().await,
        set(&[
            "configmaps/web-map",
            "deployments/web",
            "secrets/web-secret"
        ])
    );
    // The field that was removed from the chart is removed from the object.
    assert_eq!(
        stage.get(MAP).await.unwrap()["data"],
        json!({"text": "two"})
    );
    assert_eq!(stage.statuses().await, ["1 superseded", "2 deployed"]);
    stage.close().await;
}

#[tokio::test]
async fn history_is_trimmed() {
    let stage = Stage::open().await;
    let options = Options {
        max_history: 2,
        ..Options::default()
    };
    for text in ["a", "b", "c", "d"] {
        stage
            .deploy(&web(), &json!({"map": text}), &options)
            .await
            .unwrap();
    }
    assert_eq!(stage.statuses().await, ["3 superseded", "4 deployed"]);
    stage.close().await;
}

#[tokio::test]
async fn a_rollback_brings_an_earlier_revision_back_as_a_new_one() {
    let stage = Stage::open().await;
    let options = Options::default();
    let chart = web();
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    let values = json!({"map": "two", "service": false});
    stage.deploy(&chart, &values, &options).await.unwrap();
    let back = outrigger_release::rollback(&stage.cluster, &stage.id, None, &options, &|_| {});
    let outcome = back.await.unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Rollback, 3));
    assert_eq!(stage.objects().await, set(&WEB_OBJECTS));
    assert_eq!(stage.get(MAP).await.unwrap()["data"]["text"], "one");
    assert_eq!(
        stage.statuses().await,
        ["1 superseded", "2 superseded", "3 deployed"]
    );
    let record = outrigger_release::get_release(&stage.cluster, &stage.id, None).await;
    assert_eq!(record.unwrap().info.description, "Rollback to 1");
    stage.close().await;
}

#[tokio::test]
async fn removal_leaves_nothing_but_what_is_kept() {
    let stage = Stage::open().await;
    let options = Options::default();
    let chart = chart(&[(
        "templates/a.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n",
    )]);
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    let removed = stage.uninstall(&options).await.unwrap();
    assert!(removed.existed);
    assert_eq!(removed.deleted.len(), 1);
    assert_eq!(removed.kept[0].object.name, "kept");
    assert_eq!(stage.objects().await, set(&["configmaps/kept"]));
    assert!(stage.statuses().await.is_empty());
    // Once more is no error.
    assert!(!stage.uninstall(&options).await.unwrap().existed);
    stage.close().await;
}

#[tokio::test]
async fn a_release_that_was_removed_with_its_history_kept_is_installed_again() {
    let stage = Stage::open().await;
    let options = Options {
        keep_history: true,
        ..Options::default()
    };
    let chart = web();
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    stage
        .deploy(&chart, &json!({"map": "two"}), &options)
        .await
        .unwrap();
    stage.uninstall(&options).await.unwrap();
    assert_eq!(stage.objects().await, BTreeSet::new());
    assert_eq!(stage.statuses().await, ["1 superseded", "2 uninstalled"]);
    let outcome = stage.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Install, 3));
    stage.close().await;
}

#[tokio::test]
async fn what_others_change_or_take_away_is_seen_and_put_right() {
    let stage = Stage::open().await;
    let options = Options {
        force_conflicts: true,
        ..Options::default()
    };
    let chart = web();
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    assert!(
        drift::detect_in_release(&stage.cluster, &stage.id)
            .await
            .unwrap()
            .is_empty()
    );
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "theirs"}});
    stage.apply_as("mallory", MAP, &theirs).await;
    let service = "/api/v1/namespaces/default/services/web";
    stage
        .send("DELETE", service, "application/json", &json!({}))
        .await;
    let drifts = drift::detect_in_release(&stage.cluster, &stage.id)
        .await
        .unwrap();
    let seen: Vec<String> = drifts
        .iter()
        .map(|drift| format!("{} {}", drift.object, drift.is_missing()))
        .collect();
    assert_eq!(
        seen,
        [
            "ConfigMap/default/web-map false",
            "Service/default/web true"
        ]
    );
    assert_eq!(drifts[0].fields[0].path, ".data.text");
    assert_eq!(drifts[0].fields[0].manager.as_deref(), Some("mallory"));
    let outcome = stage.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.changed), (Action::Repair, 2));
    assert_eq!(stage.get(MAP).await.unwrap()["data"]["text"], "one");
    assert_eq!(stage.statuses().await, ["1 deployed"]);
    assert!(
        drift::detect_in_release(&stage.cluster, &stage.id)
            .await
            .unwrap()
            .is_empty()
    );
    stage.close().await;
}

#[tokio::test]
async fn manifests_without_a_chart_are_a_release_too() {
    let stage = Stage::open().await;
    let options = Options::default();
    let title = outrigger_release::ChartSummary {
        name: "plain".to_owned(),
        version: "0.1.0".to_owned(),
        app_version: String::new(),
    };
    let objects = vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}),
        json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        ]}),
    ];
    let history = load_history(&stage.cluster, &stage.id).await.unwrap();
    let desired = from_manifests(&stage.cluster, &history, title, objects).await;
    let desired = desired.unwrap();
    let observed = outrigger_release::observe(&stage.cluster, history, &desired).await;
    let plan = outrigger_release::plan(desired, observed.unwrap(), &options).unwrap();
    let done = outrigger_release::execute(&stage.cluster, plan, &options, &|_| {}).await;
    assert_eq!(done.unwrap().inventory.len(), 2);
    assert_eq!(
        stage.objects().await,
        set(&["configmaps/a", "configmaps/b"])
    );
    assert_eq!(stage.statuses().await, ["1 deployed"]);
    stage.uninstall(&options).await.unwrap();
    assert_eq!(stage.objects().await, BTreeSet::new());
    stage.close().await;
}

#[tokio::test]
async fn a_template_sees_the_cluster() {
    let stage = Stage::open().await;
    let options = Options::default();
    let chart = chart(&[(
        "templates/a.yaml",
        "{{- $found := lookup \"v1\" \"Namespace\" \"\" \"default\" }}\n{{- $missing := lookup \"v1\" \"Secret\" \"default\" \"nothing\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\ndata:\n  found: {{ $found.metadata.name | quote }}\n  missing: {{ empty $missing | quote }}\n  apps: {{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" | quote }}\n  version: {{ .Capabilities.KubeVersion.Major | quote }}\n  install: {{ .Release.IsInstall | quote }}\n",
    )]);
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    let seen = stage
        .get("/api/v1/namespaces/default/configmaps/seen")
        .await;
    assert_eq!(
        seen.unwrap()["data"],
        json!({"found": "default", "missing": "true", "apps": "true", "version": "1", "install": "true"})
    );
    stage.close().await;
}

const BOATS: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n";

#[tokio::test]
async fn definitions_come_first_are_seen_by_templates_and_stay() {
    let stage = Stage::open().await;
    let options = Options::default();
    let chart = chart(&[
        ("crds/boats.yaml", BOATS),
        (
            "templates/boat.yaml",
            "{{- if .Capabilities.APIVersions.Has \"example.com/v1/Boat\" }}\napiVersion: example.com/v1\nkind: Boat\nmetadata: {name: proa}\n{{- end }}\n",
        ),
    ]);
    stage.deploy(&chart, &json!({}), &options).await.unwrap();
    let boat = "/apis/example.com/v1/namespaces/default/boats/proa";
    assert!(stage.get(boat).await.is_some());
    stage.uninstall(&options).await.unwrap();
    assert!(stage.get(boat).await.is_none());
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com";
    let definition: Value = stage.get(definition).await.unwrap();
    assert!(definition["metadata"]["annotations"]["meta.helm.sh/release-name"].is_null());
    stage.close().await;
}

#[tokio::test]
async fn definitions_are_replaced_only_if_asked_to() {
    let stage = Stage::open().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com";
    let body: Value = outrigger_goyaml::parse_json(BOATS.as_bytes()).unwrap();
    stage.apply_as("somebody", path, &body).await;
    let newer = BOATS.replace("singular: boat,", "singular: boat, shortNames: [bt],");
    let chart = chart(&[("crds/boats.yaml", &newer)]);
    let names = || async { stage.get(path).await.unwrap()["spec"]["names"]["shortNames"].clone() };
    stage
        .deploy(&chart, &json!({}), &Options::default())
        .await
        .unwrap();
    assert_eq!(names().await, Value::Null);
    let options = Options {
        crds: outrigger_release::CrdPolicy::Replace,
        ..Options::default()
    };
    let outcome = stage.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.changed), (Action::Repair, 1));
    assert_eq!(names().await, json!(["bt"]));
    stage.close().await;
}

#[tokio::test]
async fn the_namespace_of_a_release_is_made_if_asked_to() {
    let stage = Stage::open().await;
    let id = outrigger_release::ReleaseId::new("elsewhere", "web");
    let mut options = Options::default();
    let (chart, values) = (web(), json!({}));
    let failure = deploy(&stage.cluster, &id, &chart, &values, &options, &|_| {}).await;
    let text = failure.unwrap_err().full_message();
    assert!(
        text.contains("namespaces \"elsewhere\" not found"),
        "{text}"
    );
    options.create_namespace = true;
    deploy(&stage.cluster, &id, &chart, &values, &options, &|_| {})
        .await
        .unwrap();
    let namespace = stage.get("/api/v1/namespaces/elsewhere").await.unwrap();
    assert_eq!(namespace["metadata"]["labels"]["name"], "elsewhere");
    stage.close().await;
}

#[tokio::test]
async fn images_come_from_the_registry_that_was_named() {
    let stage = Stage::open().await;
    let rendering = outrigger_release::RenderOptions {
        image_registry: Some("reg.local/mirror".to_owned()),
        ..outrigger_release::RenderOptions::default()
    };
    let history = load_history(&stage.cluster, &stage.id).await.unwrap();
    let values = crate::stage::map(&json!({}));
    let chart = web();
    let desired = outrigger_release::render(&stage.cluster, &history, &chart, &values, &rendering);
    let desired = desired.await.unwrap();
    assert_eq!(
        desired.images()[0].image,
        "reg.local/mirror/library/nginx:1"
    );
    assert!(
        desired
            .manifest()
            .contains("reg.local/mirror/library/nginx:1")
    );
    let deployment = desired.objects().last().unwrap().body();
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"][0]["image"],
        "reg.local/mirror/library/nginx:1"
    );
    stage.close().await;
}
