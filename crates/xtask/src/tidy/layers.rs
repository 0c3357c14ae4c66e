//! Crates depend on lower layers only.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use crate::process::{command, output};

/// The layer of each crate. A crate may depend on crates of lower layers, and on earlier crates of its own layer.
const LAYERS: &[(&str, u8)] = &[
    ("outrigger-gostd", 0),
    ("outrigger-goyaml", 0),
    ("outrigger-gotmpl", 0),
    ("outrigger-chart", 0),
    ("outrigger-model", 0),
    ("outrigger-apimachinery", 0),
    ("outrigger-cel", 0),
    ("outrigger-structural", 0),
    ("outrigger-protobuf", 0),
    ("outrigger-builtin", 0),
    ("outrigger-admission", 0),
    ("outrigger-openapi", 0),
    ("outrigger-api", 1),
    ("outrigger-flow", 1),
    ("outrigger-transport", 2),
    ("outrigger-oci", 2),
    ("outrigger-registry", 2),
    ("outrigger-node", 2),
    ("outrigger-store", 2),
    ("outrigger-apiserver", 2),
    ("outrigger-simulate", 2),
    ("outrigger-sdk", 2),
    ("outrigger-repository", 2),
    ("outrigger-release", 3),
    ("outrigger-expansion", 3),
    ("outrigger-stack", 3),
    ("outrigger-cluster", 3),
    ("outrigger-controller", 4),
    ("outrigger-installer", 4),
    ("outrigger-console", 4),
    ("outrigger", 5),
    ("outrigger-peers", 6),
    ("outrigger-testing", 6),
    ("outrigger-conformance", 7),
    ("outrigger-e2e", 7),
    ("outrigger-recorder", 7),
    ("outrigger-xtask", 7),
];

/// Adapters that may depend on another adapter.
const ADAPTER_EXCEPTIONS: &[(&str, &str)] = &[
    ("outrigger-oci", "outrigger-transport"),
    ("outrigger-registry", "outrigger-oci"),
    ("outrigger-repository", "outrigger-oci"),
    ("outrigger-repository", "outrigger-transport"),
    ("outrigger-apiserver", "outrigger-store"),
    ("outrigger-simulate", "outrigger-apiserver"),
    // For the harness of operators' tests.
    ("outrigger-sdk", "outrigger-apiserver"),
];

/// Dependencies that layer 0 must not have: a runtime, a cluster client or the network.
const IMPURE: &[&str] = &["hyper", "kube", "reqwest", "tokio"];

pub(super) fn violations(root: &Path) -> anyhow::Result<Vec<String>> {
    let metadata = ["metadata", "--format-version=1", "--no-deps", "--offline"];
    let metadata = output(command(env!("CARGO"), root).args(metadata))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array();
    let packages = packages.context("cargo metadata printed no packages")?;
    Ok(packages.iter().flat_map(package_violations).collect())
}

fn package_violations(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some(position) = position(name) else {
        return vec![format!("{name}: not in the table of layers")];
    };
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies
        .filter(|dependency| dependency["kind"] != "dev")
        .filter_map(|dependency| violation(name, position, dependency["name"].as_str()?))
        .collect()
}

fn position(name: &str) -> Option<usize> {
    LAYERS
        .iter()
        .position(|(crate_name, _)| *crate_name == name)
}

fn violation(name: &str, position_of_crate: usize, dependency: &str) -> Option<String> {
    let layer = LAYERS[position_of_crate].1;
    if layer == 0 && IMPURE.contains(&dependency) {
        return Some(format!("{name}: layer 0 must not depend on {dependency}"));
    }
    let below = position(dependency)?;
    let is_exception = ADAPTER_EXCEPTIONS.contains(&(name, dependency));
    let are_adapters = layer == 2 && LAYERS[below].1 == 2 && !is_exception;
    (below >= position_of_crate || are_adapters)
        .then(|| format!("{name}: must not depend on {dependency}, which is not in a lower layer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_dependencies_on_the_same_or_a_higher_layer() {
        let check = |name: &str, dependency: &str| {
            violation(name, position(name).unwrap(), dependency).is_some()
        };
        assert!(check("outrigger-goyaml", "outrigger-chart"));
        assert!(check("outrigger-chart", "tokio"));
        assert!(check("outrigger-node", "outrigger-oci"));
        assert!(!check("outrigger-registry", "outrigger-oci"));
        assert!(!check("outrigger", "outrigger-chart"));
        assert!(!check("outrigger-node", "tokio"));
    }
}
