//! Arrows point down only: which workspace crate may depend on which.

use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Each crate with its layer. A crate depends on crates of lower layers; within a layer on those before it.
const LAYERS: &[(&str, u8)] = &[
    ("outrigger-goyaml", 0),
    ("outrigger-gotmpl", 0),
    ("outrigger-chart", 0),
    ("outrigger-model", 0),
    ("outrigger-apimachinery", 0),
    ("outrigger-structural", 0),
    ("outrigger-builtin", 0),
    ("outrigger-api", 1),
    ("outrigger-flow", 1),
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
    ("outrigger-console", 4),
    ("outrigger", 5),
    ("outrigger-testing", 6),
    ("outrigger-conformance", 7),
    ("outrigger-e2e", 7),
    ("outrigger-recorder", 7),
    ("outrigger-trials", 7),
    ("outrigger-xtask", 7),
];

/// The adapters that may use another one.
const ADAPTER_EXCEPTIONS: &[(&str, &str)] = &[
    ("outrigger-registry", "outrigger-oci"),
    ("outrigger-apiserver", "outrigger-store"),
    ("outrigger-simulate", "outrigger-apiserver"),
];

/// What a pure crate must not reach: a runtime, a cluster or the network.
const IMPURE: &[&str] = &["hyper", "kube", "reqwest", "tokio"];

pub(super) fn findings(root: &Path) -> anyhow::Result<Vec<String>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()?;
    Ok(metadata
        .packages
        .iter()
        .flat_map(package_findings)
        .collect())
}

fn package_findings(package: &Package) -> Vec<String> {
    let normal = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development);
    let Some(place) = place(&package.name) else {
        return vec![format!("{}: not in the table of layers", package.name)];
    };
    normal
        .filter_map(|dependency| finding(&package.name, place, &dependency.name))
        .collect()
}

fn place(name: &str) -> Option<usize> {
    LAYERS
        .iter()
        .position(|(crate_name, _)| *crate_name == name)
}

fn finding(name: &str, at: usize, dependency: &str) -> Option<String> {
    let layer = LAYERS[at].1;
    if layer == 0 && IMPURE.contains(&dependency) {
        return Some(format!("{name}: a pure crate must not use {dependency}"));
    }
    let below = place(dependency)?;
    let is_exception = ADAPTER_EXCEPTIONS.contains(&(name, dependency));
    let adapters = layer == 2 && LAYERS[below].1 == 2 && !is_exception;
    (below >= at || adapters)
        .then(|| format!("{name}: must not depend on {dependency}, which is not below it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_point_up_or_sideways_are_found() {
        let check = |name: &str, dependency: &str| {
            finding(name, place(name).unwrap(), dependency).is_some()
        };
        assert!(check("outrigger-goyaml", "outrigger-chart"));
        assert!(check("outrigger-chart", "tokio"));
        assert!(check("outrigger-node", "outrigger-oci"));
        assert!(!check("outrigger-registry", "outrigger-oci"));
        assert!(!check("outrigger", "outrigger-chart"));
        assert!(!check("outrigger-node", "tokio"));
    }
}
