//! Each problem with the field that it is about.

use serde_json::json;

use super::*;

fn problems(spec: &Value) -> Vec<String> {
    let object = json!({
        "apiVersion": "outrigger.dev/v1beta1",
        "kind": "Plugin",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    });
    let plugin: Plugin = serde_json::from_value(object).unwrap();
    check(&plugin).iter().map(ToString::to_string).collect()
}

#[test]
fn a_good_plugin_has_no_problem() {
    let spec = json!({
        "repo": "https://charts.example.com", "chart": "web", "version": ">=1.2, <2", "timeout": "1m30s",
        "imageRegistry": "registry.example.com:5000/mirror",
        "dependencies": [{"name": "db", "version": "^2"}, {"name": "db", "namespace": "other"}],
        "valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "targetPath": "a.b"}],
        "fileOverrides": [{"name": "templates/x.yaml", "content": ""}],
    });
    assert_eq!(problems(&spec), Vec::<String>::new());
    assert_eq!(problems(&json!({})), Vec::<String>::new());
}

#[test]
fn each_problem_names_its_field() {
    let cases = [
        (
            json!({"repo": "ftp://x"}),
            "spec.repo: \"ftp://x\" has an unknown scheme",
        ),
        (
            json!({"repo": "https://u:p@x/"}),
            "spec.repo: has a password in it",
        ),
        (
            json!({"version": "one"}),
            "spec.version: \"one\" is no version or range",
        ),
        (json!({"path": "../up"}), "spec.path: must stay inside"),
        (json!({"releaseName": "x".repeat(54)}), "spec.releaseName: "),
        (
            json!({"dependencies": [{"name": "web"}]}),
            "spec.dependencies[0].name: a plugin cannot depend on itself",
        ),
        (
            json!({"dependencies": [{"name": "a"}, {"name": "a", "namespace": "shop"}]}),
            "spec.dependencies[1].name: \"a\" is named twice",
        ),
        (
            json!({"dependencies": [{"name": "a", "version": ">=one"}]}),
            "spec.dependencies[0].version: ",
        ),
        (
            json!({"kind": "manifests", "values": {"a": 1}}),
            "spec.values: plugins of kind manifests take no values",
        ),
        (
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "targetPath": "a"}]}),
            "spec.valuesFrom[0].targetPath: needs a key",
        ),
        (
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "prefix": ""}]}),
            "spec.valuesFrom[0].prefix: takes every key",
        ),
        (
            json!({"fileOverrides": [{"name": "../x", "content": ""}]}),
            "spec.fileOverrides[0].name: must be a path inside the chart",
        ),
        (
            json!({"resources": [{}]}),
            "spec.resources: are for plugins of kind manifests only",
        ),
        (
            json!({"kind": "manifests", "resources": [{"apiVersion": "v1", "kind": "ConfigMap"}]}),
            "spec.resources[0].metadata.name: is missing",
        ),
        (
            json!({"timeout": "5 minutes"}),
            "spec.timeout: \"5 minutes\" is no duration",
        ),
        (
            json!({"timeout": "0s"}),
            "spec.timeout: must be longer than nothing",
        ),
        (
            json!({"imageRegistry": "https://x"}),
            "spec.imageRegistry: ",
        ),
        (
            json!({"required": true, "enabled": false}),
            "spec.enabled: a required plugin cannot be switched off",
        ),
    ];
    for (spec, expected) in cases {
        let found = problems(&spec);
        assert_eq!(found.len(), 1, "{spec}: {found:?}");
        assert!(found[0].starts_with(expected), "{spec}: {found:?}");
    }
}
