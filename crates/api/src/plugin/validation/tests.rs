//! Tests of the validation.

use serde_json::json;

use super::*;

fn errors(spec: &Value) -> Vec<String> {
    let object = json!({
        "apiVersion": "outrigger.dev/v1beta1",
        "kind": "Plugin",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    });
    let plugin: Plugin = serde_json::from_value(object).unwrap();
    validate(&plugin).iter().map(ToString::to_string).collect()
}

#[test]
fn accepts_a_valid_plugin() {
    let spec = json!({
        "repo": "https://charts.example.com", "chart": "web", "version": ">=1.2, <2", "timeout": "1m30s",
        "imageRegistry": "registry.example.com:5000/mirror",
        "dependencies": [{"name": "db", "version": "^2"}, {"name": "db", "namespace": "other"}],
        "valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "targetPath": "a.b"}],
        "fileOverrides": [{"name": "templates/x.yaml", "content": ""}],
    });
    assert_eq!(errors(&spec), Vec::<String>::new());
    assert_eq!(errors(&json!({})), Vec::<String>::new());
}

#[test]
fn a_cluster_is_named_or_given_by_a_secret() {
    let error = "spec.cluster: set either name or secretName";
    let both = json!({"cluster": {"name": "a", "secretName": "b"}});
    assert_eq!(errors(&both), [error]);
    assert_eq!(errors(&json!({"cluster": {}})), [error]);
    let key = json!({"cluster": {"name": "a", "key": "b"}});
    assert_eq!(errors(&key), ["spec.cluster.key: requires secretName"]);
}

#[test]
fn each_error_names_its_field() {
    let cases = [
        (
            json!({"repo": "ftp://x"}),
            "spec.repo: \"ftp://x\" has an unknown scheme",
        ),
        (
            json!({"repo": "https://u:p@x/"}),
            "spec.repo: must not contain credentials",
        ),
        (
            json!({"version": "one"}),
            "spec.version: \"one\" is not a version or version range",
        ),
        (json!({"path": "../up"}), "spec.path: must be a path inside"),
        (json!({"releaseName": "x".repeat(54)}), "spec.releaseName: "),
        (
            json!({"dependencies": [{"name": "web"}]}),
            "spec.dependencies[0].name: a plugin cannot depend on itself",
        ),
        (
            json!({"dependencies": [{"name": "a"}, {"name": "a", "namespace": "shop"}]}),
            "spec.dependencies[1].name: duplicate dependency \"a\"",
        ),
        (
            json!({"dependencies": [{"name": "a", "version": ">=one"}]}),
            "spec.dependencies[0].version: ",
        ),
        (
            json!({"kind": "manifests", "values": {"a": 1}}),
            "spec.values: plugins of kind manifests have no values",
        ),
        (
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "targetPath": "a"}]}),
            "spec.valuesFrom[0].targetPath: requires key",
        ),
        (
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "prefix": ""}]}),
            "spec.valuesFrom[0].prefix: applies to all keys",
        ),
        (
            json!({"fileOverrides": [{"name": "../x", "content": ""}]}),
            "spec.fileOverrides[0].name: must be a path inside the chart",
        ),
        (
            json!({"resources": [{}]}),
            "spec.resources: are only allowed for plugins of kind manifests",
        ),
        (
            json!({"kind": "manifests", "resources": [{"apiVersion": "v1", "kind": "ConfigMap"}]}),
            "spec.resources[0].metadata.name: is missing",
        ),
        (
            json!({"timeout": "5 minutes"}),
            "spec.timeout: \"5 minutes\" is not a duration",
        ),
        (
            json!({"timeout": "0s"}),
            "spec.timeout: must be greater than zero",
        ),
        (
            json!({"imageRegistry": "https://x"}),
            "spec.imageRegistry: ",
        ),
        (
            json!({"required": true, "enabled": false}),
            "spec.enabled: a required plugin cannot be disabled",
        ),
    ];
    for (spec, expected) in cases {
        let found = errors(&spec);
        assert_eq!(found.len(), 1, "{spec}: {found:?}");
        assert!(found[0].starts_with(expected), "{spec}: {found:?}");
    }
}

#[test]
fn a_service_account_has_a_valid_name() {
    for name in ["web", "web.shop", "a-1"] {
        assert_eq!(errors(&json!({"serviceAccountName": name})), [""; 0]);
    }
    for name in ["", " ", "web ", "a:b", "../x", "Web", "-a", "a..b", "x\ny"] {
        let errors = errors(&json!({"serviceAccountName": name}));
        assert!(
            errors[0].starts_with("spec.serviceAccountName: "),
            "{name:?}: {errors:?}"
        );
    }
}
