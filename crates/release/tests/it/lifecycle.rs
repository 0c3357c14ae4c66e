//! Install, upgrade, repair, rollback and uninstall.

use std::collections::BTreeSet;

use outrigger_release::{Action, Change, Options, Outcome, drift, from_manifests, load_history};
use serde_json::{Value, json};

use crate::charts::{WEB_OBJECTS, chart, web};
use crate::harness::{Harness, deploy, plan_for, set};

const MAP: &str = "/api/v1/namespaces/default/configmaps/web-map";

#[tokio::test]
async fn an_install_completes_when_all_objects_are_healthy() {
    let harness = Harness::start().await;
    let outcome: Outcome = harness
        .deploy(&web(), &json!({}), &Options::default())
        .await
        .unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Install, 1));
    assert_eq!(outcome.notes.as_deref(), Some("Revision 1"));
    assert_eq!(outcome.inventory.len(), 4);
    assert_eq!(harness.objects().await, set(&WEB_OBJECTS));
    assert_eq!(harness.statuses().await, ["1 deployed"]);
    let deployment = "/apis/apps/v1/namespaces/default/deployments/web";
    let deployment = harness.get(deployment).await.unwrap();
    assert_eq!(deployment["status"]["readyReplicas"], 1);
    assert_eq!(
        deployment["metadata"]["annotations"]["meta.helm.sh/release-name"],
        "web"
    );
    harness.stop().await;
}

#[tokio::test]
async fn a_repeated_deployment_changes_nothing_and_makes_no_revision() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = web();
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let before = harness.get(MAP).await.unwrap();
    let outcome = harness.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.changed), (Action::Nothing, 0));
    assert_eq!(harness.get(MAP).await.unwrap(), before);
    assert_eq!(harness.statuses().await, ["1 deployed"]);
    harness.stop().await;
}

#[tokio::test]
async fn an_upgrade_writes_changed_objects_and_prunes_removed_ones() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = web();
    harness
        .deploy(&chart, &json!({"extra": "more"}), &options)
        .await
        .unwrap();
    let values = json!({"map": "two", "service": false});
    let plan = plan_for(&harness.cluster, &harness.id, &chart, &values, &options).await;
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
    let outcome = harness.deploy(&chart, &values, &options).await.unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Upgrade, 2));
    assert_eq!(
        harness.objects().await,
        set(&[
            "configmaps/web-map",
            "deployments/web",
            "secrets/web-secret"
        ])
    );
    // The field that was removed from the chart is removed from the object.
    assert_eq!(
        harness.get(MAP).await.unwrap()["data"],
        json!({"text": "two"})
    );
    assert_eq!(harness.statuses().await, ["1 superseded", "2 deployed"]);
    harness.stop().await;
}

#[tokio::test]
async fn old_revisions_are_deleted() {
    let harness = Harness::start().await;
    let options = Options {
        max_history: 2,
        ..Options::default()
    };
    for text in ["a", "b", "c", "d"] {
        harness
            .deploy(&web(), &json!({"map": text}), &options)
            .await
            .unwrap();
    }
    assert_eq!(harness.statuses().await, ["3 superseded", "4 deployed"]);
    harness.stop().await;
}

#[tokio::test]
async fn a_rollback_deploys_an_earlier_revision_as_a_new_one() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = web();
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let values = json!({"map": "two", "service": false});
    harness.deploy(&chart, &values, &options).await.unwrap();
    let rollback =
        outrigger_release::rollback(&harness.cluster, &harness.id, None, &options, &|_| {});
    let outcome = rollback.await.unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Rollback, 3));
    assert_eq!(harness.objects().await, set(&WEB_OBJECTS));
    assert_eq!(harness.get(MAP).await.unwrap()["data"]["text"], "one");
    assert_eq!(
        harness.statuses().await,
        ["1 superseded", "2 superseded", "3 deployed"]
    );
    let record = outrigger_release::get_release(&harness.cluster, &harness.id, None).await;
    assert_eq!(record.unwrap().info.description, "Rollback to 1");
    harness.stop().await;
}

#[tokio::test]
async fn uninstall_deletes_all_objects_without_keep_policy() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = chart(&[(
        "templates/a.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: deleted}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n",
    )]);
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let outcome = harness.uninstall(&options).await.unwrap();
    assert!(outcome.existed);
    assert_eq!(outcome.deleted.len(), 1);
    assert_eq!(outcome.kept[0].object.name, "kept");
    assert_eq!(harness.objects().await, set(&["configmaps/kept"]));
    assert!(harness.statuses().await.is_empty());
    // Uninstalling again is not an error.
    assert!(!harness.uninstall(&options).await.unwrap().existed);
    harness.stop().await;
}

#[tokio::test]
async fn a_release_uninstalled_with_kept_history_is_installed_again() {
    let harness = Harness::start().await;
    let options = Options {
        keep_history: true,
        ..Options::default()
    };
    let chart = web();
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    harness
        .deploy(&chart, &json!({"map": "two"}), &options)
        .await
        .unwrap();
    harness.uninstall(&options).await.unwrap();
    assert_eq!(harness.objects().await, BTreeSet::new());
    assert_eq!(harness.statuses().await, ["1 superseded", "2 uninstalled"]);
    let outcome = harness.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Install, 3));
    harness.stop().await;
}

#[tokio::test]
async fn drift_is_detected_and_repaired() {
    let harness = Harness::start().await;
    let options = Options {
        conflicts: outrigger_release::Conflicts::Take,
        ..Options::default()
    };
    let chart = web();
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    assert!(
        drift::detect_in_release(&harness.cluster, &harness.id)
            .await
            .unwrap()
            .is_empty()
    );
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "theirs"}});
    harness.apply_as("mallory", MAP, &theirs).await;
    let service = "/api/v1/namespaces/default/services/web";
    harness
        .send("DELETE", service, "application/json", &json!({}))
        .await;
    let drifts = drift::detect_in_release(&harness.cluster, &harness.id)
        .await
        .unwrap();
    let objects: Vec<String> = drifts
        .iter()
        .map(|drift| format!("{} {}", drift.object, drift.is_missing()))
        .collect();
    assert_eq!(
        objects,
        [
            "ConfigMap/default/web-map false",
            "Service/default/web true"
        ]
    );
    assert_eq!(drifts[0].fields[0].path, ".data.text");
    assert_eq!(drifts[0].fields[0].manager.as_deref(), Some("mallory"));
    let outcome = harness.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.changed), (Action::Repair, 2));
    assert_eq!(harness.get(MAP).await.unwrap()["data"]["text"], "one");
    assert_eq!(harness.statuses().await, ["1 deployed"]);
    assert!(
        drift::detect_in_release(&harness.cluster, &harness.id)
            .await
            .unwrap()
            .is_empty()
    );
    harness.stop().await;
}

#[tokio::test]
async fn manifests_without_a_chart_are_deployed_as_a_release() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = outrigger_release::ChartSummary {
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
    let history = load_history(&harness.cluster, &harness.id).await.unwrap();
    let desired = from_manifests(&harness.cluster, &history, chart, objects).await;
    let desired = desired.unwrap();
    let observed = outrigger_release::observe(&harness.cluster, history, &desired).await;
    let plan = outrigger_release::plan(desired, observed.unwrap(), &options).unwrap();
    let outcome = outrigger_release::execute(&harness.cluster, plan, &options, &|_| {}).await;
    assert_eq!(outcome.unwrap().inventory.len(), 2);
    assert_eq!(
        harness.objects().await,
        set(&["configmaps/a", "configmaps/b"])
    );
    assert_eq!(harness.statuses().await, ["1 deployed"]);
    harness.uninstall(&options).await.unwrap();
    assert_eq!(harness.objects().await, BTreeSet::new());
    harness.stop().await;
}

#[tokio::test]
async fn templates_use_lookup_and_capabilities_of_the_cluster() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = chart(&[(
        "templates/a.yaml",
        "{{- $found := lookup \"v1\" \"Namespace\" \"\" \"default\" }}\n{{- $missing := lookup \"v1\" \"Secret\" \"default\" \"nothing\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: result}\ndata:\n  found: {{ $found.metadata.name | quote }}\n  missing: {{ empty $missing | quote }}\n  apps: {{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" | quote }}\n  version: {{ .Capabilities.KubeVersion.Major | quote }}\n  install: {{ .Release.IsInstall | quote }}\n",
    )]);
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let result = harness
        .get("/api/v1/namespaces/default/configmaps/result")
        .await;
    assert_eq!(
        result.unwrap()["data"],
        json!({"found": "default", "missing": "true", "apps": "true", "version": "1", "install": "true"})
    );
    harness.stop().await;
}

const BOATS: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n";

#[tokio::test]
async fn crds_are_installed_first_visible_to_templates_and_kept_on_uninstall() {
    let harness = Harness::start().await;
    let options = Options::default();
    let chart = chart(&[
        ("crds/boats.yaml", BOATS),
        (
            "templates/boat.yaml",
            "{{- if .Capabilities.APIVersions.Has \"example.com/v1/Boat\" }}\napiVersion: example.com/v1\nkind: Boat\nmetadata: {name: proa}\n{{- end }}\n",
        ),
    ]);
    harness.deploy(&chart, &json!({}), &options).await.unwrap();
    let boat = "/apis/example.com/v1/namespaces/default/boats/proa";
    assert!(harness.get(boat).await.is_some());
    harness.uninstall(&options).await.unwrap();
    assert!(harness.get(boat).await.is_none());
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com";
    let crd: Value = harness.get(crd).await.unwrap();
    assert!(crd["metadata"]["annotations"]["meta.helm.sh/release-name"].is_null());
    harness.stop().await;
}

#[tokio::test]
async fn crds_are_updated_only_with_the_replace_policy() {
    let harness = Harness::start().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com";
    let body: Value = outrigger_goyaml::parse_json(BOATS.as_bytes()).unwrap();
    harness.apply_as("somebody", path, &body).await;
    let newer = BOATS.replace("singular: boat,", "singular: boat, shortNames: [bt],");
    let chart = chart(&[("crds/boats.yaml", &newer)]);
    let names =
        || async { harness.get(path).await.unwrap()["spec"]["names"]["shortNames"].clone() };
    harness
        .deploy(&chart, &json!({}), &Options::default())
        .await
        .unwrap();
    assert_eq!(names().await, Value::Null);
    let options = Options {
        crds: outrigger_release::CrdPolicy::Replace,
        ..Options::default()
    };
    let outcome = harness.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.changed), (Action::Repair, 1));
    assert_eq!(names().await, json!(["bt"]));
    harness.stop().await;
}

#[tokio::test]
async fn the_namespace_of_a_release_is_created_if_requested() {
    let harness = Harness::start().await;
    let id = outrigger_release::ReleaseId::new("elsewhere", "web");
    let mut options = Options::default();
    let (chart, values) = (web(), json!({}));
    let error = deploy(&harness.cluster, &id, &chart, &values, &options, &|_| {}).await;
    let text = error.unwrap_err().full_message();
    assert!(
        text.contains("namespaces \"elsewhere\" not found"),
        "{text}"
    );
    options.create_namespace = true;
    deploy(&harness.cluster, &id, &chart, &values, &options, &|_| {})
        .await
        .unwrap();
    let namespace = harness.get("/api/v1/namespaces/elsewhere").await.unwrap();
    assert_eq!(namespace["metadata"]["labels"]["name"], "elsewhere");
    harness.stop().await;
}

#[tokio::test]
async fn images_are_relocated_to_the_image_registry() {
    let harness = Harness::start().await;
    let render_options = outrigger_release::RenderOptions {
        image_registry: Some("reg.local/mirror".to_owned()),
        ..outrigger_release::RenderOptions::default()
    };
    let history = load_history(&harness.cluster, &harness.id).await.unwrap();
    let values = crate::harness::map(&json!({}));
    let chart = web();
    let desired =
        outrigger_release::render(&harness.cluster, &history, &chart, &values, &render_options);
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
    harness.stop().await;
}
