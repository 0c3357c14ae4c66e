//! Each rule, conflicts with both owners, and repeated merges.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::definition::Definition;
use crate::scan::{Content, Entry, File, Scanned};

const TKE: &str = r#"{
    "cluster": {"spec": {"version": "1.30.1", // of Kubernetes
        "features": {"files": [{"src": "hooks/a", "dst": "/opt/a"}], "hooks": {"PreInstall": "/opt/a"},
                     "skipConditions": ["EnsureDocker"]},
        "kubeletExtraArgs": {"max-pods": "110"}}},
    "config": {"basic": {"username": "admin"}, "skipsteps": ["Load images"]}
}"#;

/// A package with this definition, and an executable file for each entry of `files`.
fn package(definition: &str) -> Package {
    let mut scanned = Scanned::default();
    let file = |content: &str| {
        Entry::File(File {
            size: 0,
            mode: 0o755,
            content: Content::Bytes(content.as_bytes().to_vec()),
        })
    };
    let (read, findings) = Definition::read(definition.as_bytes()).unwrap();
    assert_eq!(findings, []);
    for entry in read.files {
        let path = format!("files/{}", entry.value.src);
        scanned.entries.insert(path, file("#!/bin/sh\n"));
    }
    let path = crate::definition::DEFINITION.to_owned();
    scanned.entries.insert(path, file(definition));
    let (package, findings) = Package::read(&scanned);
    assert_eq!(findings, []);
    package
}

fn tke() -> Base {
    Base::parse("tke.json", TKE).unwrap()
}

fn merged(base: &Base, definition: &str) -> Value {
    merge(base, &package(definition)).unwrap().document
}

#[track_caller]
fn conflicts(base: &Base, definition: &str, expected: &[&str]) {
    let conflicts = merge(base, &package(definition)).unwrap_err();
    let texts: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(texts, expected);
}

#[test]
fn files_hooks_and_lists_are_added() {
    let definition = "name: demo\nfiles: [opt/b, opt/PostInstall]\ninstaller_skip_steps: [LoadImages, Tag images]\n\
                      create_cluster_skip_conditions: [EnsureContainerRuntime, EnsureGalaxy]\n\
                      create_cluster_delegate_conditions: [EnsureKubelet]\n";
    let merged = merged(&tke(), definition);
    let features = &merged["cluster"]["spec"]["features"];
    assert_eq!(
        features["files"],
        json!([
            {"src": "hooks/a", "dst": "/opt/a"},
            {"src": "demo/files/opt/b", "dst": "/opt/b"},
            {"src": "demo/files/opt/PostInstall", "dst": "/opt/PostInstall"},
        ])
    );
    let hooks = json!({"PreInstall": "/opt/a", "PostInstall": "/opt/PostInstall"});
    assert_eq!(features["hooks"], hooks);
    // EnsureDocker is the older name of EnsureContainerRuntime, and LoadImages is Load images.
    assert_eq!(
        features["skipConditions"],
        json!(["EnsureDocker", "EnsureGalaxy"])
    );
    assert_eq!(features["delegateConditions"], json!(["EnsureKubelet"]));
    let steps = json!(["Load images", "Tag images"]);
    assert_eq!(merged["config"]["skipsteps"], steps);
    assert_eq!(merged["config"]["basic"]["username"], "admin");
}

#[test]
fn conflicts_name_both_owners_and_all_are_reported() {
    let definition = "name: demo\nrequires: {kubernetes: ^1.34}\n\
                      files: [{src: other, dst: /opt/a}, {src: p, dst: /opt/p, hook: PreInstall}]\n";
    conflicts(
        &tke(),
        definition,
        &[
            "cluster.spec.version: tke.json has 1.30.1, package demo requires ^1.34",
            "cluster.spec.features.files: tke.json copies hooks/a to /opt/a, package demo copies demo/files/other to /opt/a",
            "cluster.spec.features.hooks.PreInstall: tke.json sets it to /opt/a, package demo sets it to /opt/p",
        ],
    );
}

#[test]
fn a_step_is_not_skipped_by_one_and_delegated_by_the_other() {
    conflicts(
        &tke(),
        "name: demo\ncreate_cluster_delegate_conditions: [EnsureContainerRuntime]\n",
        &[
            "cluster.spec.features.delegateConditions: tke.json skips EnsureContainerRuntime, package demo delegates EnsureContainerRuntime",
        ],
    );
}

#[test]
fn arguments_of_the_base_win_and_are_reported() {
    let definition =
        "name: demo\ncreate_cluster_extra_args: {kubeletExtraArgs: {max-pods: 250, v: 2}}\n";
    let effective = merge(&tke(), &package(definition)).unwrap();
    assert_eq!(
        effective.document["cluster"]["spec"]["kubeletExtraArgs"],
        json!({"max-pods": "110", "v": "2"})
    );
    let notes: Vec<String> = effective.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "cluster.spec.kubeletExtraArgs.max-pods: tke.json sets it to 110, which stays; package demo would set it to 250"
        ]
    );
}

#[test]
fn a_cluster_is_a_base_too() {
    let cluster = "apiVersion: outrigger.dev/v1beta1\nkind: Cluster\nmetadata: {name: a}\nspec: {version: 1.36.4}\n";
    let base = Base::parse("cluster.yaml", cluster).unwrap();
    let definition = "name: demo\nfiles: [{src: a, dst: /etc/hosts, force: true}]\ninstaller_skip_steps: [LoadImages]\n\
                      create_cluster_extra_args: {dockerExtraArgs: {a: b}}\nrequires: {kubernetes: '>=1.34'}\n";
    let effective = merge(&base, &package(definition)).unwrap();
    let spec = &effective.document["spec"];
    assert_eq!(spec["containerRuntimeExtraArgs"], json!({"a": "b"}));
    let file = json!([{"src": "demo/files/a", "dst": "/etc/hosts", "force": true}]);
    assert_eq!(spec["features"]["files"], file);
    assert_eq!(effective.notes[0].field, "installer_skip_steps");
    // What is merged is still a Cluster.
    assert!(
        outrigger_api::compat::read_cluster(effective.document)
            .unwrap()
            .is_some()
    );
}

#[test]
fn what_is_no_configuration_is_refused() {
    let check = |text: &str, expected: &str| {
        let error = Base::parse("x", text).unwrap_err().to_string();
        assert_eq!(error, expected);
    };
    let form = "x is neither {cluster, Config} as tke.json nor a Cluster";
    check("", form);
    check("kind: Deployment", form);
    check("[]", form);
    check(
        "{\"cluster\": {}, \"steps\": 1}",
        "x: unknown key \"steps\" beside cluster and Config",
    );
    check(
        "{\"cluster\": {}, \"Config\": {}, \"config\": {}}",
        "x: unknown key \"config\" beside cluster and Config",
    );
    check(
        "{\"cluster\": {\"spec\": []}}",
        "x: cluster.spec must be an object",
    );
    check(
        "{\"cluster\": {\"spec\": {\"features\": {\"files\": [{\"src\": \"a\"}]}}}}",
        "x: cluster.spec.features.files must be a list of objects with src and dst",
    );
    check(
        "a: 1\n---\nb: 1\n",
        "x has 2 documents; a configuration has one",
    );
    check("{", "x is not valid YAML or JSON");
}

/// The page has the table of the rules.
#[test]
fn the_documentation_has_the_rules() {
    let rows = RULES.iter().map(|rule| {
        let field = match rule.target {
            Target::Cluster(field) => format!("spec.{field}"),
            Target::Config(field) => format!("Config.{field}"),
        };
        format!("| `{}` | `{field}` | {} |\n", rule.key, rule.how.describe())
    });
    let table: String = rows.collect();
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/expansion-packages.md"
    );
    let page = fs_err::read_to_string(page).unwrap();
    assert!(page.contains(&table), "{table}");
}

/// Every key of the table has a contribution.
#[test]
fn every_rule_is_used() {
    let definition = "files: [PreInstall]\nrequires: {kubernetes: '*'}\ninstaller_skip_steps: [a]\n\
                      create_cluster_skip_conditions: [a]\ncreate_cluster_delegate_conditions: [a]\n\
                      create_cluster_extra_args:\n  dockerExtraArgs: {a: b}\n  kubeletExtraArgs: {a: b}\n  \
                      apiServerExtraArgs: {a: b}\n  controllerManagerExtraArgs: {a: b}\n  schedulerExtraArgs: {a: b}\n";
    let package = package(definition);
    for rule in RULES {
        assert!(
            contribution::of(&package, rule.key).is_some(),
            "{}",
            rule.key
        );
    }
}

proptest! {
    #[test]
    fn merging_again_changes_nothing(
        files in proptest::collection::btree_set("[a-d]", 0..4),
        skipped in proptest::collection::vec("Ensure(Docker|ContainerRuntime|Galaxy|Cilium)", 0..4),
        steps in proptest::collection::vec("(Load|Tag|Push) ?[iI]mages", 0..4),
        arguments in proptest::collection::btree_map("[a-c]", "[a-z]{1,3}", 0..4),
    ) {
        let definition = json!({
            "name": "demo",
            "files": files,
            "create_cluster_skip_conditions": skipped,
            "installer_skip_steps": steps,
            "create_cluster_extra_args": {"apiServerExtraArgs": arguments},
        });
        let package = package(&definition.to_string());
        let base = tke();
        let once = merge(&base, &package).unwrap();
        let twice = merge(&base.with_document(once.document.clone()), &package).unwrap();
        prop_assert_eq!(&once.document, &twice.document);
        // Nothing of the base is lost.
        let spec = &once.document["cluster"]["spec"];
        prop_assert_eq!(&spec["features"]["hooks"]["PreInstall"], "/opt/a");
        prop_assert_eq!(&spec["features"]["files"][0]["src"], "hooks/a");
        prop_assert_eq!(&spec["features"]["skipConditions"][0], "EnsureDocker");
    }
}
