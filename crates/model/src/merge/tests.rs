//! Which contributions merge, and what the conflicts say.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Placement, Scope};

fn contribution(owner: &str, scope: &str, construct: &Value) -> Contribution {
    let mut object = construct.as_object().unwrap().clone();
    object.insert("owner".to_owned(), json!(owner));
    object.insert("scope".to_owned(), json!(scope));
    serde_json::from_value(Value::Object(object)).unwrap()
}

fn file(path: &str, text: &str) -> Value {
    json!({"file": {"path": path, "content": {"text": text}}})
}

fn resource(stack: &str, name: &str) -> Value {
    json!({"resource": {"stack": stack, "name": name, "body": {"Type": "AWS::EC2::VPC"}}})
}

fn patch(path: &[&str], operation: &Value) -> Value {
    json!({"patch": {"stack": "network", "resource": "Vpc", "path": path, "operation": operation}})
}

/// Merges contributions, given as owner, scope and construct, and compares the conflicts.
#[track_caller]
fn check(contributions: &[(&str, &str, Value)], expected: &[&str]) -> Model {
    let contributions = contributions.iter();
    let contributions =
        contributions.map(|(owner, scope, construct)| contribution(owner, scope, construct));
    let (model, conflicts) = match merge(contributions) {
        Ok(model) => (model, Vec::new()),
        Err(conflicts) => (Model::default(), conflicts),
    };
    let conflicts: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(conflicts, expected);
    model
}

#[test]
fn two_owners_of_one_file_conflict_and_both_are_named() {
    check(
        &[
            ("dex", "cluster", file("/etc/a", "1")),
            ("agent", "cluster", file("/etc/a", "1")),
        ],
        &["file /etc/a: claimed by plugin agent (cluster) and by plugin dex (cluster)"],
    );
}

#[test]
fn scopes_that_reach_the_same_machines_conflict() {
    check(
        &[
            ("agent", "cluster", file("/etc/a", "1")),
            ("gpu", "pool/gpu", file("/etc/a", "2")),
        ],
        &["file /etc/a: claimed by plugin agent (cluster) and by plugin gpu (pool/gpu)"],
    );
    check(
        &[
            ("a", "role/etcd", file("/etc/a", "1")),
            ("b", "pool/gpu", file("/etc/a", "2")),
        ],
        &[],
    );
    check(
        &[
            ("a", "pool/cpu", file("/etc/a", "1")),
            ("b", "pool/gpu", file("/etc/a", "2")),
        ],
        &[],
    );
}

#[test]
fn a_plugin_overrides_itself_in_a_narrower_scope() {
    let model = check(
        &[
            ("agent", "role/worker", file("/etc/a", "all")),
            ("agent", "pool/gpu", file("/etc/a", "gpu")),
        ],
        &[],
    );
    let text = |pool: &str| {
        let placement = Placement::Worker(pool.parse().unwrap());
        let files: Vec<_> = model.files.for_placement(&placement).collect();
        assert_eq!(files.len(), 1);
        files[0].value.content.clone()
    };
    assert_eq!(text("gpu"), Content::Text("gpu".to_owned()));
    assert_eq!(text("cpu"), Content::Text("all".to_owned()));
    assert_eq!(model.files.for_placement(&Placement::Etcd).count(), 0);
}

#[test]
fn a_plugin_that_contributes_something_twice_is_named_once() {
    check(
        &[
            ("a", "cluster", file("/etc/a", "1")),
            ("a", "cluster", file("/etc/a", "2")),
        ],
        &["file /etc/a: plugin a contributes it twice (cluster and cluster)"],
    );
}

#[test]
fn equal_labels_kernel_settings_and_statements_have_several_owners() {
    let label = json!({"nodeLabel": {"key": "tier", "value": "gold"}});
    let other = json!({"nodeLabel": {"key": "tier", "value": "silver"}});
    let model = check(
        &[
            ("a", "cluster", label.clone()),
            ("b", "cluster", label.clone()),
        ],
        &[],
    );
    assert_eq!(model.node_labels.entries().next().unwrap().owners.len(), 2);
    check(
        &[("a", "cluster", label), ("b", "pool/gpu", other)],
        &["node label tier: claimed by plugin a (cluster) and by plugin b (pool/gpu)"],
    );
    let statement = json!({"iamStatement": {"actions": ["s3:GetObject"], "resources": ["*"]}});
    let model = check(
        &[
            ("a", "cluster", statement.clone()),
            ("b", "cluster", statement),
        ],
        &[],
    );
    assert_eq!(model.iam_statements.entries().count(), 1);
}

#[test]
fn flags_with_different_values_conflict_but_sets_are_united() {
    let flag = |name: &str, value: &str| json!({"flag": {"component": "kube-apiserver", "name": name, "value": value}});
    check(
        &[
            ("dex", "cluster", flag("oidc-issuer-url", "https://a")),
            ("idp", "cluster", flag("oidc-issuer-url", "https://b")),
        ],
        &[
            "flag kube-apiserver --oidc-issuer-url: claimed by plugin dex (cluster) and by plugin idp (cluster)",
        ],
    );
    let gates = [
        ("a", "cluster", flag("feature-gates", "X=true,Y=false")),
        ("b", "cluster", flag("feature-gates", "Y=false,Z=true")),
    ];
    let model = check(&gates, &[]);
    let values: Vec<_> = model
        .flags
        .entries()
        .map(|entry| entry.value.value.as_str())
        .collect();
    assert_eq!(values, ["X=true", "Y=false", "Z=true"]);
    check(
        &[
            ("a", "cluster", flag("feature-gates", "X=true")),
            ("b", "cluster", flag("feature-gates", "X=false")),
        ],
        &[
            "flag kube-apiserver --feature-gates X: claimed by plugin a (cluster) and by plugin b (cluster)",
        ],
    );
}

#[test]
fn flags_reach_only_machines_that_run_the_component() {
    let flag = json!({"flag": {"component": "kube-scheduler", "name": "v", "value": "2"}});
    check(
        &[("a", "pool/gpu", flag)],
        &[
            "flag kube-scheduler --v of plugin a (pool/gpu): kube-scheduler does not run on the machines of pool/gpu",
        ],
    );
}

#[test]
fn patches_of_one_field_conflict_and_appended_items_are_united() {
    let vpc = ("network", "cluster", resource("network", "Vpc"));
    let set = |value: bool| patch(&["Properties", "EnableDnsSupport"], &json!({"set": value}));
    check(
        &[
            vpc.clone(),
            ("a", "cluster", set(true)),
            ("b", "cluster", set(false)),
        ],
        &["patch network/Vpc: claimed by plugin a (cluster) and by plugin b (cluster)"],
    );
    check(
        &[
            vpc.clone(),
            ("a", "cluster", set(true)),
            ("b", "cluster", set(true)),
        ],
        &[],
    );
    let parent = patch(&["Properties"], &json!({"set": {}}));
    check(
        &[
            vpc.clone(),
            ("a", "cluster", set(true)),
            ("b", "cluster", parent),
        ],
        &["patch network/Vpc: claimed by plugin a (cluster) and by plugin b (cluster)"],
    );
    let append = |item: u8| patch(&["Properties", "Tags"], &json!({"append": [item]}));
    let model = check(
        &[
            vpc,
            ("b", "cluster", append(2)),
            ("a", "cluster", append(1)),
        ],
        &[],
    );
    let mut body = model
        .resources
        .in_cluster("network/Vpc")
        .unwrap()
        .body
        .clone();
    for entry in model.patches.entries() {
        entry.value.apply(&mut body).unwrap();
    }
    assert_eq!(body["Properties"]["Tags"], json!([1, 2]));
}

#[test]
fn a_patch_of_a_resource_that_is_gone_is_reported() {
    check(
        &[(
            "a",
            "cluster",
            patch(&["Properties", "X"], &json!({"set": 1})),
        )],
        &["patch network/Vpc of plugin a (cluster): resource network/Vpc does not exist"],
    );
}

#[test]
fn patches_that_do_not_fit_the_resource_fail() {
    let apply = |operation: Value, path: &[&str]| {
        let construct = patch(path, &operation)["patch"].clone();
        let patch: crate::construct::Patch = serde_json::from_value(construct).unwrap();
        let mut body = json!({"Properties": {"Name": "x"}})
            .as_object()
            .unwrap()
            .clone();
        patch
            .apply(&mut body)
            .map(|()| Value::Object(body))
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        apply(json!({"append": [1]}), &["Properties", "Name"]),
        Err("Properties.Name is not a list".to_owned())
    );
    assert_eq!(
        apply(json!({"set": 1}), &["Properties", "Name", "X"]),
        Err("Properties.Name is not an object".to_owned())
    );
    assert_eq!(
        apply(json!("remove"), &["Properties", "Y"]),
        Err("Properties.Y does not exist".to_owned())
    );
    assert_eq!(
        apply(json!("remove"), &["Properties", "Name"]),
        Ok(json!({"Properties": {}}))
    );
}

#[test]
fn resources_of_pools_may_differ_but_other_stacks_exist_once() {
    check(
        &[
            ("a", "pool/x", resource("nodePools", "R")),
            ("b", "pool/y", resource("nodePools", "R")),
        ],
        &[],
    );
    check(
        &[("a", "pool/x", resource("network", "R"))],
        &[
            "resource network/R of plugin a (pool/x): must have the scope cluster, because only nodePools is one stack per pool",
        ],
    );
}

#[test]
fn contents_of_a_stack_that_nobody_adds_are_reported() {
    let mut in_extra = resource("network", "R");
    in_extra["resource"]["stack"] = json!({"additional": "Extra"});
    check(
        &[("a", "cluster", in_extra.clone())],
        &["resource Extra/R of plugin a (cluster): stack Extra does not exist"],
    );
    check(
        &[
            ("a", "cluster", in_extra),
            (
                "a",
                "cluster",
                json!({"additionalStack": {"name": "Extra"}}),
            ),
        ],
        &[],
    );
}

#[test]
fn one_object_in_two_plugins_conflicts_across_versions_and_files() {
    let object = |version: &str, file: &str| json!({"manifest": {"name": file, "object": {"apiVersion": version, "kind": "Deployment", "metadata": {"name": "x", "namespace": "n"}}}});
    check(
        &[
            ("a", "cluster", object("apps/v1", "a.yaml")),
            ("b", "cluster", object("apps/v1beta1", "b.yaml")),
        ],
        &["object Deployment.apps n/x: claimed by plugin a (cluster) and by plugin b (cluster)"],
    );
}

#[test]
fn secret_files_that_others_can_read_are_refused() {
    let secret =
        json!({"file": {"path": "/etc/key", "mode": 0o644, "content": {"secret": {"name": "k"}}}});
    check(
        &[("a", "cluster", secret)],
        &[
            "file /etc/key of plugin a (cluster): mode 0644 lets others read a secret; use 0600 or 0400",
        ],
    );
}

#[test]
fn cycles_of_signers_are_named() {
    let pair = |name: &str, signer: &str| json!({"keyPair": {"name": name, "commonName": name, "durationSeconds": 1, "usages": ["ca"], "signer": signer}});
    check(
        &[
            ("a", "cluster", pair("x", "y")),
            ("b", "cluster", pair("y", "x")),
        ],
        &[
            "key pair x of plugin a (cluster): signers form a cycle: x -> y -> x",
            "key pair y of plugin b (cluster): signers form a cycle: y -> x -> y",
        ],
    );
    check(
        &[("a", "cluster", pair("x", "gone"))],
        &["key pair x of plugin a (cluster): signer gone does not exist"],
    );
}

#[test]
fn malformed_constructs_name_their_owner() {
    let bad = [
        file("relative", ""),
        file("/a/../b", ""),
        json!({"unit": {"name": "agent"}}),
        json!({"unit": {"name": "../x.service"}}),
        json!({"dropIn": {"unit": "a.service", "name": "x", "content": ""}}),
        json!({"file": {"path": "/x", "content": {"url": {"url": "http://x", "sha256": "a".repeat(64)}}}}),
        json!({"file": {"path": "/x", "content": {"url": {"url": "https://x", "sha256": ""}}}}),
        json!({"nodeLabel": {"key": "a b", "value": ""}}),
        json!({"tag": {"stack": "root", "key": "aws:x", "value": ""}}),
        json!({"iamStatement": {"actions": ["GetObject"], "resources": ["*"]}}),
        json!({"volume": {"component": "kubelet", "name": "X", "path": "/x"}}),
        json!({"s3File": {"key": "a/../b", "content": {"text": ""}}}),
        json!({"additionalStack": {"name": "Network"}}),
        json!({"componentSetting": {"component": "kube-apiserver", "path": ["a"], "value": 1}}),
    ];
    for construct in bad {
        let conflicts = merge([contribution("p", "cluster", &construct)]).unwrap_err();
        assert!(
            matches!(conflicts[0].problem, Problem::Invalid(_)),
            "{construct}: {conflicts:?}"
        );
        assert_eq!(conflicts[0].owner.as_str(), "p");
    }
}

#[test]
fn a_contribution_has_exactly_one_construct_and_no_unknown_fields() {
    let parse = |value: Value| {
        serde_json::from_value::<Contribution>(value)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        parse(json!({"owner": "a"})),
        "a contribution has one construct, but this one has: "
    );
    let two = json!({"owner": "a", "nodeLabel": {"key": "k", "value": "v"}, "unit": {"name": "x.service"}});
    assert_eq!(
        parse(two),
        "a contribution has one construct, but this one has: nodeLabel, unit"
    );
    let unknown = json!({"owner": "a", "unit": {"name": "x.service", "enabled": true}});
    assert!(parse(unknown).starts_with("unknown field `enabled`"));
    assert!(parse(json!({"owner": "a", "units": {}})).starts_with("unknown variant `units`"));
}

#[test]
fn wildcards_are_found() {
    let statement = |actions: &[&str], resource: &str| -> crate::construct::IamStatement {
        serde_json::from_value(json!({"actions": actions, "resources": [resource]})).unwrap()
    };
    assert!(statement(&["*"], "arn:x").wildcard().is_some());
    assert!(statement(&["s3:*"], "arn:x").wildcard().is_some());
    assert!(statement(&["sts:AssumeRole"], "*").wildcard().is_some());
    assert_eq!(statement(&["sts:AssumeRole"], "arn:x").wildcard(), None);
    assert_eq!(statement(&["ec2:DescribeTags"], "*").wildcard(), None);
}

#[test]
fn a_thousand_owners_of_one_file_are_reported_in_linear_number() {
    let many = (0..1000).map(|i| contribution(&format!("p{i}"), "cluster", &file("/a", "")));
    assert_eq!(merge(many).unwrap_err().len(), 999);
}

fn any_contribution() -> impl Strategy<Value = Contribution> {
    let owner = prop::sample::select(vec!["a", "b", "c"]);
    let scope = prop::sample::select(vec![
        "cluster",
        "role/worker",
        "role/controller",
        "pool/x",
        "pool/y",
    ]);
    let construct = (0..9_usize, 0..3_u8, 0..2_u8).prop_map(|(kind, key, value)| match kind {
        0 => file(&format!("/f{key}"), &value.to_string()),
        1 => json!({"unit": {"name": format!("u{key}.service"), "content": value.to_string()}}),
        2 => json!({"flag": {"component": "kubelet", "name": "feature-gates", "value": format!("G{key}={value},H={value}")}}),
        3 => json!({"nodeLabel": {"key": format!("k{key}"), "value": value.to_string()}}),
        4 => json!({"iamStatement": {"actions": [format!("s3:A{key}")], "resources": [value]}}),
        5 => resource("nodePools", &format!("R{key}")),
        6 => json!({"patch": {"stack": "nodePools", "resource": format!("R{key}"), "path": ["Properties", "P"], "operation": {"append": [value]}}}),
        7 => json!({"componentSetting": {"component": "kube-proxy", "path": ["conntrack"], "value": {format!("k{key}"): value}}}),
        _ => json!({"kernelSetting": {"name": format!("vm.k{key}"), "value": value.to_string()}}),
    });
    (owner, scope, construct)
        .prop_map(|(owner, scope, construct)| contribution(owner, scope, &construct))
}

/// Contributions, and the same in another order.
fn shuffled() -> impl Strategy<Value = (Vec<Contribution>, Vec<Contribution>)> {
    let contributions = prop::collection::vec(any_contribution(), 0..14);
    contributions.prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
}

proptest! {
    #[test]
    fn any_order_gives_the_same_model_or_the_same_conflicts((one, other) in shuffled()) {
        prop_assert_eq!(merge(one), merge(other));
    }

    #[test]
    fn merging_the_contributions_of_a_model_gives_the_model(all in prop::collection::vec(any_contribution(), 0..8)) {
        if let Ok(model) = merge(all) {
            prop_assert_eq!(merge(model.contributions()).unwrap(), model);
        }
    }

    #[test]
    fn contributions_survive_serialization(one in any_contribution()) {
        let text = serde_json::to_string(&one).unwrap();
        prop_assert_eq!(serde_json::from_str::<Contribution>(&text).unwrap(), one);
    }
}

#[test]
fn every_scope_has_a_conflict_or_a_model_with_all_its_entries() {
    for scope in ["cluster", "role/etcd", "pool/x"] {
        let scope: Scope = scope.parse().unwrap();
        let model = merge([contribution("a", &scope.to_string(), &file("/a", ""))]).unwrap();
        assert_eq!(model.files.entries().next().unwrap().scope, scope);
    }
}
