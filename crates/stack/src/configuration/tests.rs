//! Which plugins `cluster.yaml` enables, and which mistakes are reported.

use serde_json::json;

use super::*;
use crate::plugin::{Failure, Metadata, Origin, Request, Response, Staged};

#[derive(Debug)]
struct Nothing;

impl Staged for Nothing {
    fn run(&self, _: &Request<'_>) -> Result<Response, Failure> {
        Ok(Response::default())
    }
}

fn plugin() -> Plugin {
    let defaults = json!({"login": true, "replicas": 2})
        .as_object()
        .unwrap()
        .clone();
    let metadata = Metadata::new("my-dex".parse().unwrap(), "1", Origin::User);
    Plugin {
        metadata,
        defaults,
        schema: None,
        body: Box::new(Nothing),
    }
}

fn activation(yaml: &str) -> Activation {
    Configuration::parse(yaml.as_bytes())
        .unwrap()
        .activation(&plugin())
        .unwrap()
}

fn error(yaml: &str) -> String {
    let result = Configuration::parse(yaml.as_bytes())
        .and_then(|configuration| configuration.check_plugins(&[plugin()]));
    result.unwrap_err().to_string()
}

#[test]
fn plugins_are_off_unless_enabled() {
    assert!(!activation("clusterName: a").is_enabled());
    let on = activation(
        "clusterName: a\nkubeAwsPlugins: {myDex: {enabled: true, login: false, replicas: 0}}",
    );
    assert_eq!(
        Value::Object(on.cluster.unwrap()),
        json!({"login": false, "replicas": 0})
    );
}

#[test]
fn an_omitted_enabled_in_a_node_pool_inherits() {
    let yaml = "
clusterName: a
plugins: {my-dex: {enabled: true, replicas: 3}}
nodePools:
- {name: plain}
- {name: tuned, plugins: {myDex: {replicas: 0}}}
- {name: none, plugins: {myDex: {enabled: false}}}
";
    let activation = activation(yaml);
    let pools: Vec<&str> = activation.pools.keys().map(PoolName::as_str).collect();
    assert_eq!(pools, ["plain", "tuned"]);
    assert_eq!(activation.pools[&"tuned".parse().unwrap()]["replicas"], 0);
    assert_eq!(activation.pools[&"plain".parse().unwrap()]["replicas"], 3);
}

#[test]
fn a_plugin_can_be_enabled_in_one_pool_only() {
    let yaml = "clusterName: a\nworker: {nodePools: [{name: x, kubeAwsPlugins: {myDex: {enabled: true}}}, {name: z}]}";
    let activation = activation(yaml);
    assert_eq!(activation.cluster, None);
    assert_eq!(activation.pools.len(), 1);
}

#[test]
fn unknown_keys_and_plugins_are_errors_with_suggestions() {
    assert_eq!(
        error("clusterName: a\nregoin: x"),
        "unknown key \"regoin\" in the document, did you mean \"region\"?"
    );
    assert_eq!(
        error("clusterName: a\nplugins: {myDexx: {}}"),
        "unknown plugin \"myDexx\" in the document, did you mean \"myDex\"?"
    );
    assert_eq!(
        error("clusterName: a\nnodePools: [{name: p, plugins: {dex: {}}}]"),
        "unknown plugin \"dex\" in node pool p, did you mean \"myDex\"?"
    );
    assert_eq!(
        error("clusterName: a\nnodePools: [{name: p, taint: 1}]"),
        "unknown key \"taint\" in node pool p"
    );
    assert_eq!(error("region: x"), "clusterName is missing");
    assert_eq!(
        error("clusterName: a\nnodePools: [{name: p}, {name: p}]"),
        "node pool p exists twice"
    );
}

#[test]
fn enabled_must_be_a_bool() {
    let configuration =
        Configuration::parse(b"clusterName: a\nplugins: {myDex: {enabled: 'yes'}}").unwrap();
    assert_eq!(
        configuration.activation(&plugin()).unwrap_err().to_string(),
        "enabled of plugin my-dex must be true or false"
    );
}
