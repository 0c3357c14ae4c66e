//! Tests of plans.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::*;
use crate::cluster::api_resources_for_tests;
use crate::observe::objects_of;
use crate::record::tests::record;
use crate::record::{Hook, Record, Status};

const MAP_A: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}";
const MAP_B: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}";
const SECRET: &str = "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {p: new}}";

fn release() -> ReleaseId {
    ReleaseId::new("shop", "web")
}

fn manifest(documents: &[&str]) -> String {
    let mut manifest = String::new();
    for document in documents {
        crate::record::push_document(&mut manifest, "web/templates/a.yaml", document);
    }
    manifest
}

fn history(records: Vec<Record>) -> History {
    History::of_records(release(), records)
}

fn deployed(documents: &[&str]) -> Record {
    record(1, Status::Deployed, &manifest(documents))
}

/// The live object after we applied it.
fn applied(document: &str) -> Value {
    let desired = Desired::for_tests(&History::empty(release()), &[document], Vec::new());
    let mut object = desired.objects()[0].body().clone();
    object["metadata"]["uid"] = json!("u");
    let mut fields = json!({});
    for field in ["data", "stringData", "spec"] {
        if let Some(map) = object[field].as_object() {
            let below = map.keys().map(|key| (format!("f:{key}"), json!({})));
            fields[format!("f:{field}")] = below.collect();
        }
    }
    fields["f:metadata"] = json!({
        "f:labels": {"f:app.kubernetes.io/managed-by": {}},
        "f:annotations": {"f:meta.helm.sh/release-name": {}, "f:meta.helm.sh/release-namespace": {}},
    });
    object["metadata"]["managedFields"] = json!([{
        "manager": "helm", "operation": "Apply", "apiVersion": object["apiVersion"], "fieldsV1": fields,
    }]);
    object
}

/// The live object if another client created it.
fn foreign(document: &str) -> Value {
    outrigger_goyaml::parse_json(document.as_bytes()).unwrap()
}

fn observed(history: History, live: Vec<Value>) -> Observed {
    let resources = api_resources_for_tests();
    let recorded = history.records().iter();
    let recorded = recorded
        .map(|record| objects_of(record, &resources))
        .collect();
    let live: HashMap<ObjectKey, Value> = live
        .into_iter()
        .map(|object| {
            let id = resources.resolve(&ObjectId::of(&object), "shop").unwrap();
            (id.key(), object)
        })
        .collect();
    Observed {
        history,
        live,
        recorded,
        replacing: BTreeSet::new(),
        missing_namespaces: BTreeSet::new(),
    }
}

fn plan_for(
    records: Vec<Record>,
    documents: &[&str],
    live: Vec<Value>,
    options: &Options,
) -> Result<Plan, Rejection> {
    let history = history(records);
    let desired = Desired::for_tests(&history, documents, Vec::new());
    plan(desired, observed(history, live), options)
}

fn changes(plan: &Plan) -> Vec<String> {
    let steps = plan.objects.iter();
    steps
        .map(|step| format!("{} {}", step.change, step.object.name))
        .collect()
}

#[test]
fn a_first_install_creates_all_objects() {
    let plan = plan_for(vec![], &[MAP_A, MAP_B], vec![], &Options::default()).unwrap();
    assert_eq!((plan.action, plan.revision), (Action::Install, 1));
    assert_eq!(changes(&plan), ["create a", "create b"]);
}

#[test]
fn an_up_to_date_release_needs_no_action() {
    let live = vec![applied(MAP_A), applied(MAP_B)];
    let records = vec![deployed(&[MAP_A, MAP_B])];
    let plan = plan_for(records, &[MAP_A, MAP_B], live, &Options::default()).unwrap();
    assert_eq!((plan.action, plan.revision), (Action::Nothing, 1));
    assert!(plan.is_empty());
}

#[test]
fn a_missing_object_is_repaired_without_a_new_revision() {
    let records = vec![deployed(&[MAP_A, MAP_B])];
    let live = vec![applied(MAP_A)];
    let plan = plan_for(records, &[MAP_A, MAP_B], live, &Options::default()).unwrap();
    assert_eq!((plan.action, plan.revision), (Action::Repair, 1));
    assert_eq!(changes(&plan), ["unchanged a", "create b"]);
}

#[test]
fn an_upgrade_updates_creates_and_prunes() {
    let records = vec![deployed(&[MAP_A, MAP_B])];
    let changed = MAP_A.replace("'1'", "'2'");
    let live = vec![applied(MAP_A), applied(MAP_B)];
    let plan = plan_for(records, &[&changed, SECRET], live, &Options::default()).unwrap();
    assert_eq!((plan.action, plan.revision), (Action::Upgrade, 2));
    assert_eq!(changes(&plan), ["update a", "create s", "prune b"]);
    let field = &plan.objects[0].fields[0];
    assert_eq!(field.path, ".data.x");
    assert_eq!(field.before, Some(json!("1")));
    assert_eq!(field.after, Some(json!("2")));
}

#[test]
fn values_of_secrets_are_masked_in_a_plan() {
    let records = vec![deployed(&[SECRET])];
    let live = vec![applied(SECRET)];
    let changed = SECRET.replace("new", "hunter2");
    let plan = plan_for(records, &[&changed], live, &Options::default()).unwrap();
    let text = format!("{plan} {plan:?} {}", serde_json::to_string(&plan).unwrap());
    assert_eq!(plan.objects[0].fields[0].path, ".data.p");
    assert!(
        !text.contains("hunter2") && !text.contains("aHVudGVyMg"),
        "{text}"
    );
}

#[test]
fn a_foreign_object_is_rejected_in_helms_words_unless_ownership_is_taken() {
    let live = || vec![foreign(MAP_A)];
    let rejection = plan_for(vec![], &[MAP_A], live(), &Options::default()).unwrap_err();
    let text = rejection.to_string();
    assert!(
        text.starts_with(
            "unable to continue with install: ConfigMap \"a\" in namespace \"shop\" exists and cannot be imported \
             into the current release: invalid ownership metadata; "
        ),
        "{text}"
    );
    let options = Options {
        take_ownership: true,
        ..Options::default()
    };
    let plan = plan_for(vec![], &[MAP_A], live(), &options).unwrap();
    assert_eq!(changes(&plan), ["adopt a"]);
}

#[test]
fn all_foreign_objects_are_reported_at_once() {
    let live = vec![foreign(MAP_A), foreign(MAP_B)];
    let rejection = plan_for(vec![], &[MAP_A, MAP_B], live, &Options::default()).unwrap_err();
    assert_eq!(
        rejection.to_string().matches("exists and cannot").count(),
        2
    );
}

#[test]
fn objects_with_keep_policy_or_another_owner_are_not_pruned() {
    let records = vec![deployed(&[MAP_A, MAP_B, SECRET])];
    let mut kept = applied(MAP_A);
    kept["metadata"]["annotations"]["helm.sh/resource-policy"] = json!("keep");
    let mut moved = applied(MAP_B);
    moved["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("other");
    let live = vec![kept, moved, applied(SECRET)];
    let other = "{apiVersion: v1, kind: Service, metadata: {name: z}}";
    let plan = plan_for(records, &[other], live, &Options::default()).unwrap();
    assert_eq!(changes(&plan), ["create z", "keep a", "keep b", "prune s"]);
}

#[test]
fn an_interrupted_install_is_resumed_at_its_revision() {
    let pending = record(1, Status::PendingInstall, &manifest(&[MAP_A, MAP_B]));
    let history = history(vec![pending]);
    let mut desired = Desired::for_tests(&history, &[MAP_A, MAP_B], Vec::new());
    desired.revision = 1;
    let plan = plan(
        desired,
        observed(history, vec![applied(MAP_A)]),
        &Options::default(),
    )
    .unwrap();
    assert_eq!((plan.action, plan.revision), (Action::Install, 1));
    assert!(plan.is_resumed);
    assert_eq!(changes(&plan), ["unchanged a", "create b"]);
}

#[test]
fn objects_of_an_interrupted_revision_are_pruned_if_the_next_one_differs() {
    let pending = record(1, Status::PendingInstall, &manifest(&[MAP_A, MAP_B]));
    let live = vec![applied(MAP_A), applied(MAP_B)];
    let plan = plan_for(vec![pending], &[MAP_A], live, &Options::default()).unwrap();
    assert_eq!((plan.action, plan.revision), (Action::Install, 2));
    assert_eq!(changes(&plan), ["unchanged a", "prune b"]);
}

#[test]
fn a_foreign_object_in_the_manifest_of_a_failed_revision_is_not_pruned() {
    let failed = record(2, Status::Failed, &manifest(&[MAP_A, MAP_B]));
    let records = vec![deployed(&[MAP_A]), failed];
    let live = vec![applied(MAP_A), foreign(MAP_B)];
    let plan = plan_for(records, &[MAP_A], live, &Options::default()).unwrap();
    assert_eq!(changes(&plan), ["unchanged a"]);
    // The deployed contents are desired again, but a failed revision followed them.
    assert_eq!((plan.action, plan.revision), (Action::Upgrade, 3));
}

#[test]
fn a_value_that_a_failed_revision_changed_is_updated() {
    let changed = MAP_A.replace("'1'", "'2'");
    let failed = record(2, Status::Failed, &manifest(&[&changed]));
    let records = vec![deployed(&[MAP_A]), failed];
    let plan = plan_for(
        records,
        &[MAP_A],
        vec![applied(&changed)],
        &Options::default(),
    )
    .unwrap();
    assert_eq!(changes(&plan), ["update a"]);
}

#[test]
fn a_field_that_another_manager_changed_is_repaired() {
    let records = vec![deployed(&[MAP_A])];
    let mut live = applied(MAP_A);
    live["data"]["x"] = json!("theirs");
    let fields = &mut live["metadata"]["managedFields"][0]["fieldsV1"];
    fields.as_object_mut().unwrap().remove("f:data");
    let plan = plan_for(records, &[MAP_A], vec![live], &Options::default()).unwrap();
    assert_eq!(plan.action, Action::Repair);
    assert_eq!(changes(&plan), ["update a"]);
}

#[test]
fn an_object_that_helm_applied_client_side_is_updated() {
    let mut record = deployed(&[MAP_A]);
    record.apply_method = String::new();
    let mut live = applied(MAP_A);
    live["metadata"]["managedFields"][0]["operation"] = json!("Update");
    let plan = plan_for(vec![record], &[MAP_A], vec![live], &Options::default()).unwrap();
    assert_eq!(changes(&plan), ["update a"]);
    assert!(plan.objects[0].reason.is_some());
}

#[test]
fn a_terminating_object_is_created_again() {
    let records = vec![deployed(&[MAP_A])];
    let mut live = applied(MAP_A);
    live["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let plan = plan_for(records, &[MAP_A], vec![live], &Options::default()).unwrap();
    assert_eq!(changes(&plan), ["create a"]);
}

#[test]
fn a_change_of_an_immutable_field_is_rejected() {
    let deployment = |label: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, spec: {{selector: {{matchLabels: {{app: {label}}}}}}}}}"
        )
    };
    let before = deployment("one");
    let records = vec![deployed(&[&before])];
    let live = vec![applied(&before)];
    let rejection =
        plan_for(records, &[&deployment("two")], live, &Options::default()).unwrap_err();
    assert!(
        rejection
            .to_string()
            .contains(".spec.selector.matchLabels is immutable"),
        "{rejection}"
    );
    assert!(rejection.hint().contains("Deployment/shop/d"));
}

#[test]
fn a_change_of_the_image_of_a_job_is_rejected() {
    let job = |image: &str| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{template: {{spec: {{containers: [{{name: c, image: {image}}}]}}}}}}}}"
        )
    };
    let (before, after) = (job("a:1"), job("a:2"));
    let records = vec![deployed(&[&before])];
    let rejection = plan_for(
        records,
        &[&after],
        vec![applied(&before)],
        &Options::default(),
    );
    let Err(rejection @ Rejection::ImmutableField { .. }) = rejection else {
        panic!("the change was not rejected");
    };
    // The live value may come from a Secret that has changed since, which nothing could redact.
    assert_eq!(
        rejection.to_string(),
        "Job/shop/j cannot be updated: .spec.template.spec.containers.0.image is immutable, and the desired value differs \
         from the live one"
    );
}

#[test]
fn hooks_are_planned_in_the_order_of_execution() {
    let hook = |name: &str, weight, event: &str| Hook {
        name: name.to_owned(),
        kind: "Job".to_owned(),
        weight,
        events: vec![event.to_owned()],
        ..Hook::default()
    };
    let hooks = vec![
        hook("late", 2, "pre-install"),
        hook("after", 0, "post-install"),
        hook("early", 1, "pre-install"),
        hook("other", 0, "pre-upgrade"),
    ];
    let history = History::empty(release());
    let desired = Desired::for_tests(&history, &[MAP_A], hooks);
    let plan = plan(desired, observed(history, vec![]), &Options::default()).unwrap();
    let names: Vec<&str> = plan.hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["early", "late", "after"]);
}

#[test]
fn a_plan_displays_as_a_table() {
    let records = vec![deployed(&[MAP_A, MAP_B])];
    let changed = MAP_A.replace("'1'", "'2'");
    let live = vec![applied(MAP_A), applied(MAP_B)];
    let plan = plan_for(records, &[&changed], live, &Options::default()).unwrap();
    assert_eq!(
        plan.to_string(),
        "upgrade shop/web to revision 2 (web 1.0.0)\n\
         \x20 update     ConfigMap/shop/a\n\
         \x20            .data.x: \"1\" -> \"2\"\n\
         \x20 prune      ConfigMap/shop/b\n"
    );
}
