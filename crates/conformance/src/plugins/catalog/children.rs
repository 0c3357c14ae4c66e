//! The plugins of KubeGems that a chart renders, and their stand-in charts.

use std::collections::BTreeSet;

use anyhow::anyhow;
use serde_json::Value;

use crate::images::finder::images_in;

/// A rendered plugin: its source.
#[derive(Debug, Clone)]
pub(super) struct Child {
    kind: String,
    pub(super) url: String,
    pub(super) chart: String,
    pub(super) version: String,
    pub(super) path: Option<String>,
}

impl Child {
    /// Why its source is not supported, if it is not: a part of the message.
    pub(super) fn unsupported(&self) -> Option<&'static str> {
        if self.kind == "kustomize" {
            Some("kustomize")
        } else if self.url.rsplit('.').next() == Some("git") {
            // A branch is not a version.
            Some("\"master\"")
        } else {
            None
        }
    }
}

/// What a chart renders to.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) children: Vec<Child>,
    pub(super) images: BTreeSet<String>,
}

/// The plugins and images among rendered objects.
pub(super) fn parse(manifest: &[u8]) -> anyhow::Result<Output> {
    let images = images_in(&String::from_utf8_lossy(manifest));
    let mut children = Vec::new();
    for document in outrigger_goyaml::documents(manifest) {
        let document = document.map_err(|error| anyhow!("{}", error.rest))?;
        let object = outrigger_goyaml::parse_json(&document)?;
        let version = object["apiVersion"].as_str().unwrap_or_default();
        if version.starts_with("plugins.kubegems.io/") {
            children.push(child(&object));
        }
    }
    Ok(Output { children, images })
}

fn child(object: &Value) -> Child {
    let text = |field: &str| object["spec"][field].as_str().map(str::to_owned);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Child {
        kind: text("kind").unwrap_or_default(),
        url: text("url").unwrap_or_default(),
        chart: text("chart").unwrap_or_else(|| name.to_owned()),
        version: text("version").unwrap_or_else(|| "1.0.0".to_owned()),
        path: text("path"),
    }
}

/// Custom resource definitions that the real charts bring, and that other charts of the catalogue need: group, kind,
/// plural, version, and the chart. Those of Prometheus are with a chart whose parent Helm accepts.
const DEFINITIONS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "argoproj.io",
        "ClusterAnalysisTemplate",
        "clusteranalysistemplates",
        "v1alpha1",
        "argo-rollouts",
    ),
    (
        "install.istio.io",
        "IstioOperator",
        "istiooperators",
        "v1alpha1",
        "istio-operator",
    ),
    (
        "monitoring.coreos.com",
        "PodMonitor",
        "podmonitors",
        "v1",
        "prometheus-node-exporter",
    ),
    (
        "monitoring.coreos.com",
        "PrometheusRule",
        "prometheusrules",
        "v1",
        "prometheus-node-exporter",
    ),
];

/// The image of a stand-in chart, without a registry.
pub(super) fn image(chart: &str, version: &str) -> String {
    format!("stand-in/{chart}:{}", version.replace('+', "_"))
}

/// The files of a stand-in chart, below a directory. With a registry, it runs an image of it.
pub(super) fn stand_in(
    chart: &str,
    version: &str,
    directory: &str,
    registry: Option<&str>,
) -> Vec<(String, Vec<u8>)> {
    let config =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-stand-in\n";
    let mut files = vec![
        (
            "Chart.yaml".to_owned(),
            format!("apiVersion: v2\nname: {chart}\nversion: {version}\n"),
        ),
        ("templates/config.yaml".to_owned(), config.to_owned()),
    ];
    if let Some(registry) = registry {
        let image = format!("{registry}/{}", image(chart, version));
        let deployment = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{{{ .Release.Name }}}}-stand-in\nspec:\n  \
             selector: {{matchLabels: {{app: {{{{ .Release.Name }}}}}}}}\n  template:\n    \
             metadata: {{labels: {{app: {{{{ .Release.Name }}}}}}}}\n    \
             spec:\n      containers: [{{name: stand-in, image: {image:?}}}]\n"
        );
        files.push(("templates/deployment.yaml".to_owned(), deployment));
    }
    let definitions = DEFINITIONS.iter().filter(|(.., owner)| *owner == chart);
    for (group, kind, plural, version, _) in definitions {
        let scope = if kind.starts_with("Cluster") {
            "Cluster"
        } else {
            "Namespaced"
        };
        let definition = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {plural}.{group}}}\n\
             spec:\n  group: {group}\n  scope: {scope}\n  names: {{kind: {kind}, plural: {plural}}}\n  versions:\n  \
             - {{name: {version}, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, \
             x-kubernetes-preserve-unknown-fields: true}}}}}}\n"
        );
        files.push((format!("crds/{plural}.yaml"), definition));
    }
    let files = files.into_iter();
    files
        .map(|(path, text)| (format!("{directory}/{path}"), text.into_bytes()))
        .collect()
}
