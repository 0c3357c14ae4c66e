//! Tests of the conversions, with objects as users of the other systems write them.

use serde_json::{Value, json};

use super::*;
use crate::condition::{Condition, ConditionStatus};
use crate::plugin::{Phase, PluginKind, PluginStatus, ValuesKind, validate};

fn yaml(text: &str) -> Value {
    outrigger_goyaml::parse_json(text.as_bytes()).unwrap()
}

fn plugin(text: &str) -> Plugin {
    read(yaml(text)).unwrap().unwrap()
}

fn invalid(text: &str) -> (String, Option<String>) {
    let error = read(yaml(text)).unwrap_err();
    (error.to_string(), error.hint())
}

/// A plugin with the legacy spec and without metadata.
const LEGACY: &str = "
apiVersion: plugins.kubegems.io/v1beta1
kind: Plugin
spec:
  enabled: true
  kind: helm
  repo: https://charts.example.com
  name: component-a
  version: v1.0.0
";

#[test]
fn a_plugin_without_metadata_is_named_after_its_chart() {
    let plugin = plugin(LEGACY);
    assert_eq!(plugin.name(), "component-a");
    assert_eq!(
        plugin.spec.repo.as_deref(),
        Some("https://charts.example.com")
    );
    assert_eq!(plugin.spec.chart.as_deref(), Some("component-a"));
    assert_eq!(plugin.spec.version.as_deref(), Some("v1.0.0"));
    assert_eq!(plugin.spec.kind, PluginKind::Helm);
    assert!(plugin.spec.enabled);
    assert_eq!(validate(&plugin), []);
}

#[test]
fn values_are_converted() {
    let values = "  values:\n    subComponent:\n      enabled: false\n    storageClass:\n      name: local-path\n";
    let plugin = plugin(&format!("{LEGACY}{values}"));
    assert_eq!(
        Value::Object(plugin.spec.values),
        json!({"subComponent": {"enabled": false}, "storageClass": {"name": "local-path"}})
    );
}

#[test]
fn rejects_a_plugin_without_a_name() {
    let text = "
apiVersion: plugins.kubegems.io/v1beta1
kind: Plugin
spec:
  enabled: true
  kind: helm
  values: {subComponent: {enable: true}}
";
    assert_eq!(invalid(text).0, "metadata.name: is missing");
}

#[test]
fn the_legacy_kind_inline_becomes_manifests() {
    let plugin = plugin(
        "
apiVersion: plugins.kubegems.io/v1beta1
kind: Plugin
metadata: {name: extras, namespace: tools, annotations: {plugins.kubegems.io/required: 'true'}}
spec:
  enabled: false
  kind: inline
  dependencies: [{name: base, namespace: kubegems, version: '>= 1.2'}]
  resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]
",
    );
    assert_eq!(plugin.spec.kind, PluginKind::Manifests);
    assert!(!plugin.spec.enabled && plugin.spec.required);
    assert_eq!(
        plugin.spec.dependencies[0].version.as_deref(),
        Some(">= 1.2")
    );
    assert_eq!(plugin.spec.resources.len(), 1);
}

const CURRENT: &str = "
apiVersion: plugins.kubegems.io/v1beta1
kind: Plugin
metadata:
  name: monitoring
  namespace: kubegems-installer
  labels: {team: core}
  resourceVersion: '7'
  annotations: {kubectl.kubernetes.io/last-applied-configuration: x}
spec:
  disabled: true
  kind: template
  url: https://charts.example.com
  chart: kube-monitoring
  version: 44.3.4
  path: deploy
  installNamespace: kubegems-monitoring
  dependencies: [{apiVersion: plugins.kubegems.io/v1beta1, kind: Plugin, name: local}, {name: gateway, namespace: gw}]
  values: {a: {b: null}, c: null, d: {e: 1}, f: {}}
  valuesFrom:
    - {kind: ConfigMap, name: kubegems-global-values, namespace: kubegems-installer, prefix: global., optional: true}
    - {kind: Secret, name: more}
  fileOverrides: [{name: values.yaml, content: 'a: 1'}]
status: {phase: Installed}
";

#[test]
fn converts_all_fields_of_the_current_spec() {
    let plugin = plugin(CURRENT);
    let spec = &plugin.spec;
    assert!(!spec.enabled);
    assert_eq!(spec.kind, PluginKind::Template);
    assert_eq!(spec.chart.as_deref(), Some("kube-monitoring"));
    assert_eq!(
        spec.install_namespace.as_deref(),
        Some("kubegems-monitoring")
    );
    let names = spec
        .dependencies
        .iter()
        .map(|d| plugin.resolve_dependency(d));
    let expected = [("kubegems-installer", "local"), ("gw", "gateway")];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    // As KubeGems, without nulls and maps that only contain nulls.
    assert_eq!(
        Value::Object(spec.values.clone()),
        json!({"d": {"e": 1}, "f": {}})
    );
    assert_eq!(spec.values_from[0].prefix.as_deref(), Some("global."));
    assert_eq!(spec.values_from[1].kind, ValuesKind::Secret);
    assert_eq!(spec.values_from[1].prefix.as_deref(), Some(""));
    assert_eq!(spec.file_overrides[0].name, "values.yaml");
    assert_eq!(plugin.metadata.labels.as_ref().unwrap()["team"], "core");
    assert_eq!(plugin.metadata.resource_version, None);
    assert_eq!(plugin.metadata.annotations, None);
    assert_eq!(validate(&plugin), []);
}

#[test]
fn a_bundle_is_converted_like_a_plugin_with_the_current_spec() {
    let text = CURRENT.replace(
        "plugins.kubegems.io/v1beta1\nkind: Plugin",
        "bundle.kubegems.io/v1beta1\nkind: Bundle",
    );
    assert_eq!(plugin(&text).spec, plugin(CURRENT).spec);
}

#[test]
fn errors_of_a_kubegems_plugin_name_the_field() {
    let with = |line: &str| invalid(&format!("{LEGACY}  {line}\n"));
    let (message, hint) = with("verison: 1");
    assert_eq!(message, "spec.verison: unknown field");
    assert_eq!(hint.as_deref(), Some("did you mean version?"));
    assert_eq!(
        with("disabled: false").0,
        "spec.disabled: conflicts with enabled; set only one of them"
    );
    assert_eq!(
        with("url: https://other").0,
        "spec.url: differs from repo; set only one of them"
    );
    assert_eq!(
        with("dependencies: [{kind: Deployment, name: a}]").0,
        "spec.dependencies[0].kind: a plugin cannot depend on a Deployment"
    );
    assert_eq!(
        with("dependencies: [{nam: a}]").0,
        "spec.dependencies[0].name: is missing"
    );
    assert_eq!(
        with("valuesFrom: [{kind: Secret, name: a, namespace: other}]").0,
        "spec.valuesFrom[0].namespace: values cannot come from another namespace"
    );
    let (message, hint) = invalid(&LEGACY.replace("v1.0.0", "1.0"));
    assert_eq!(message, "spec.version: must be a string, not a number");
    assert_eq!(hint.as_deref(), Some("put it in quotes"));
    assert_eq!(
        invalid(&LEGACY.replace("kind: helm", "kind: ansible")).0,
        "spec.kind: \"ansible\" is not a plugin kind"
    );
    assert_eq!(
        invalid(&format!("{LEGACY}extra: 1\n")).0,
        "extra: unknown field"
    );
}

const APP: &str = "
apiVersion: application.tkestack.io/v1
kind: App
metadata: {namespace: default, generateName: app-}
spec:
  type: HelmV3
  tenantID: default
  name: demo
  targetCluster: cls-abc
  targetNamespace: shop
  chart:
    tenantID: default
    chartGroupName: public
    chartName: web
    chartVersion: 1.2.0
    installPara: {clientTimeout: 90000000000, createNamespace: true, atomic: true, wait: true}
  values:
    rawValuesType: yaml
    rawValues: 'a: {b: 1, c: x}'
    values: ['a.b=2', 'list={x,y}', 'on=true']
";

#[test]
fn an_app_becomes_a_plugin_with_merged_values() {
    let plugin = plugin(APP);
    assert_eq!((plugin.name(), plugin.release_name()), ("demo", "demo"));
    assert_eq!(plugin.release_namespace(), "shop");
    assert_eq!(plugin.spec.repo.as_deref(), Some("public"));
    assert_eq!(plugin.spec.version.as_deref(), Some("1.2.0"));
    assert_eq!(plugin.spec.timeout.as_deref(), Some("90s"));
    assert!(plugin.spec.rollback);
    assert_eq!(
        plugin.spec.cluster.as_ref().unwrap().secret_name.as_deref(),
        Some("cls-abc-kubeconfig")
    );
    assert_eq!(
        Value::Object(plugin.spec.values.clone()),
        json!({"a": {"b": 2, "c": "x"}, "list": ["x", "y"], "on": true})
    );
    assert_eq!(validate(&plugin), []);
}

#[test]
fn raw_values_may_be_base64_encoded() {
    let encoded = APP.replace("'a: {b: 1, c: x}'", "ZDogMQpiOiB4Cg==");
    assert_eq!(plugin(&encoded).spec.values["b"], json!("x"));
    let json = APP.replace("'a: {b: 1, c: x}'", "'{\"abcd\": \"efgh\"}'");
    assert_eq!(plugin(&json).spec.values["abcd"], json!("efgh"));
    let neither = APP.replace("'a: {b: 1, c: x}'", "'just words'");
    assert_eq!(
        invalid(&neither).0,
        "spec.values.rawValues: must be a YAML map, optionally base64-encoded"
    );
}

#[test]
fn an_app_for_the_global_cluster_targets_the_local_cluster() {
    assert_eq!(plugin(&APP.replace("cls-abc", "global")).spec.cluster, None);
}

#[test]
fn unsupported_fields_of_an_app_are_rejected_with_a_hint() {
    let (message, hint) =
        invalid(&APP.replace("chartName: web", "chartName: web\n    repoPassword: x"));
    assert!(
        message.starts_with("spec.chart.repoPassword: credentials"),
        "{message}"
    );
    assert!(hint.unwrap().contains("secretRef"));
    assert!(
        invalid(&APP.replace("type: HelmV3", "type: HelmV3\n  dryRun: true"))
            .0
            .starts_with("spec.dryRun: ")
    );
    assert!(
        invalid(&APP.replace("'on=true'", "'on'"))
            .0
            .starts_with("spec.values.values: ")
    );
    assert_eq!(
        invalid(&APP.replace("chartName", "chartNmae")).0,
        "spec.chart.chartName: is missing"
    );
}

#[test]
fn reads_our_plugins_and_ignores_other_kinds() {
    let ours = json!({"apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "a"}, "spec": {}});
    assert!(read(ours).unwrap().unwrap().spec.enabled);
    assert!(
        read(json!({"apiVersion": "v1", "kind": "ConfigMap"}))
            .unwrap()
            .is_none()
    );
    let wrong = json!({"apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {}, "spec": {"enabled": 1}});
    assert!(read(wrong).is_err());
}

#[test]
fn definitions_match_the_foreign_kinds() {
    for (definition, foreign) in definitions().iter().zip(ForeignKind::ALL) {
        let resource = foreign.resource();
        assert_eq!(definition.spec.group, resource.group);
        assert_eq!(definition.spec.names.kind, resource.kind);
        assert_eq!(definition.spec.names.plural, resource.plural);
        assert_eq!(definition.spec.versions[0].name, resource.version);
        assert!(definition.spec.versions[0].subresources.is_some());
    }
}

fn in_phase(phase: Phase) -> Plugin {
    let mut plugin = plugin(CURRENT);
    plugin.metadata.generation = Some(3);
    plugin.status = Some(PluginStatus {
        phase,
        observed_generation: Some(3),
        revision: Some(2),
        notes: Some("Have fun".to_owned()),
        conditions: vec![Condition {
            kind: "Ready".to_owned(),
            status: ConditionStatus::False,
            reason: "DependencyMissing".to_owned(),
            message: "waiting for local".to_owned(),
            last_transition_time: "2026-01-01T00:00:00Z".to_owned(),
            observed_generation: Some(3),
        }],
        ..PluginStatus::default()
    });
    plugin
}

#[test]
fn the_status_has_phases_of_kubegems_and_waiting_is_not_a_failure() {
    let object = json!({"metadata": {"generation": 8}, "spec": {"url": "x"}});
    let phase =
        |phase| ForeignKind::KubeGemsPlugin.status(&object, &in_phase(phase))["phase"].clone();
    assert_eq!(phase(Phase::Ready), "Installed");
    assert_eq!(phase(Phase::Waiting), "");
    assert_eq!(phase(Phase::Degraded), "Failed");
    assert_eq!(phase(Phase::Disabled), "Disabled");
    let legacy = json!({"metadata": {"generation": 8}, "spec": {"repo": "x"}});
    let status = ForeignKind::KubeGemsPlugin.status(&legacy, &in_phase(Phase::Disabled));
    assert_eq!(status["phase"], "Removed");
    assert_eq!(status["observedGeneration"], 8);
    assert_eq!(status["conditions"][0]["observedGeneration"], 8);
    assert_eq!(status["message"], "waiting for local");
    assert_eq!(
        ForeignKind::KubeGemsPlugin.status(&legacy, &in_phase(Phase::Ready))["message"],
        "Have fun"
    );
}

#[test]
fn the_status_has_phases_of_tkestack() {
    let object = json!({"metadata": {"generation": 2}, "spec": {}});
    let phase = |phase| ForeignKind::TkestackApp.status(&object, &in_phase(phase))["phase"].clone();
    assert_eq!(phase(Phase::Ready), "Succeeded");
    assert_eq!(phase(Phase::Waiting), "Installing");
    assert_eq!(phase(Phase::Failed), "UpgradFailed");
    assert_eq!(phase(Phase::Removing), "Terminating");
}

#[test]
fn unknown_fields_of_our_own_kinds_are_refused_with_a_suggestion() {
    let with = |spec: &str, metadata: &str| {
        invalid(&format!(
            "apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {metadata}\nspec: {spec}\n"
        ))
    };
    let (message, hint) = with("{verison: 1.2.3}", "{name: web}");
    assert_eq!(message, "spec.verison: unknown field");
    assert_eq!(hint.as_deref(), Some("did you mean version?"));
    let (message, hint) = with("{dependencies: [{name: db, verson: ^1}]}", "{name: web}");
    assert_eq!(message, "spec.dependencies[0].verson: unknown field");
    assert_eq!(hint.as_deref(), Some("did you mean version?"));
    let (message, hint) = with("{}", "{name: web, lables: {a: b}}");
    assert_eq!(message, "metadata.lables: unknown field");
    assert_eq!(hint.as_deref(), Some("did you mean labels?"));
    let free = "{values: {any: {thing: 1}}, resources: [{kind: ConfigMap, data: {a: b}}]}";
    let text = format!(
        "apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {{name: web}}\nspec: {free}\n"
    );
    assert_eq!(plugin(&text).spec.resources.len(), 1);
}

#[test]
fn observed_generation_is_unset_until_the_plugin_is_observed() {
    let object = json!({"metadata": {"generation": 8}, "spec": {}});
    let mut plugin = in_phase(Phase::Ready);
    plugin.metadata.generation = Some(4);
    let status = ForeignKind::KubeGemsPlugin.status(&object, &plugin);
    assert_eq!(status["observedGeneration"], Value::Null);
}

#[test]
fn the_status_of_an_invalid_object_has_the_error() {
    let object = json!({"metadata": {"generation": 5}, "spec": {"verison": "1"}});
    let error = ForeignKind::KubeGemsPlugin
        .convert(object.clone())
        .unwrap_err();
    let status =
        ForeignKind::KubeGemsPlugin.rejected_status(&object, &error, "2026-01-01T00:00:00Z");
    assert_eq!(status["phase"], "Failed");
    assert_eq!(
        status["message"],
        "spec.verison: unknown field (did you mean version?)"
    );
    assert_eq!(status["conditions"][0]["reason"], "Refused");
}

mod annotations {
    use outrigger_chart::Metadata;

    use super::super::chart_annotations;
    use crate::plugin::{PluginKind, PluginSpec};

    fn chart(annotations: &[(&str, &str)]) -> Metadata {
        let named = |(key, value): &(&str, &str)| {
            (format!("plugins.kubegems.io/{key}"), (*value).to_owned())
        };
        let mut chart = Metadata::default();
        chart.name = "eventer".to_owned();
        chart.version = "2.1.6".to_owned();
        chart.annotations = annotations.iter().map(named).collect();
        chart
    }

    fn spec(annotations: &[(&str, &str)]) -> PluginSpec {
        let mut all = vec![("is-plugin", "true")];
        all.extend(annotations);
        chart_annotations::plugin(&chart(&all), "https://x")
            .unwrap()
            .unwrap()
    }

    #[test]
    fn a_chart_without_the_annotation_is_not_a_plugin() {
        assert!(
            chart_annotations::plugin(&chart(&[]), "https://x")
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn an_annotated_chart_becomes_a_plugin() {
        let spec = spec(&[
            ("install-namespace", "kubegems-eventer"),
            ("render-by", "helm"),
            ("values-from", "logging, kubegems-installer/monitoring"),
            ("required", "true"),
        ]);
        assert_eq!(spec.kind, PluginKind::Helm);
        assert_eq!(spec.install_namespace.as_deref(), Some("kubegems-eventer"));
        let sources = spec.values_from.iter();
        let sources: Vec<_> = sources
            .map(|s| (s.name.as_str(), s.prefix.as_deref().unwrap()))
            .collect();
        let expected = [
            ("kubegems-global-values", "global."),
            ("kubegems-logging-values", "logging."),
            ("kubegems-monitoring-values", "monitoring."),
        ];
        assert_eq!(sources, expected);
        assert!(spec.required);
    }

    #[test]
    fn requirements_with_two_bounds_are_one_requirement() {
        let spec = spec(&[(
            "requirements",
            "logging >= 1.0, <2, monitoring, tracing ^2.3",
        )]);
        let found = spec.dependencies.iter();
        let found: Vec<_> = found
            .map(|d| (d.name.as_str(), d.version.as_deref()))
            .collect();
        let expected = [
            ("logging", Some(">= 1.0, <2")),
            ("monitoring", None),
            ("tracing", Some("^2.3")),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn rejects_a_requirement_that_does_not_parse() {
        for requirement in ["logging >= one", ">= 1.0", "logging => => 1"] {
            let chart = chart(&[("is-plugin", "true"), ("requirements", requirement)]);
            assert!(
                chart_annotations::plugin(&chart, "https://x").is_err(),
                "{requirement}"
            );
        }
    }
}
