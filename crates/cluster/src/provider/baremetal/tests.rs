//! Which steps the provider has, and when it refuses a cluster.

use std::collections::BTreeSet;

use outrigger_api::cluster::ClusterSpec;
use outrigger_api::step::{FlowName, steps};

use super::*;
use crate::provider::folder::Folder;

fn provider() -> (tempfile::TempDir, Baremetal) {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder {
        name: "test".to_owned(),
        releases: vec![crate::provider::folder::Release {
            kubernetes: "1.36.4".to_owned(),
            architecture: "amd64".to_owned(),
            files: Vec::new(),
        }],
    };
    fs_err::write(root.path().join("provider.yaml"), folder.to_yaml()).unwrap();
    let files = Files::open(root.path()).unwrap();
    (root, Baremetal::new(Some(files)))
}

fn cluster(version: &str) -> Cluster {
    let spec = ClusterSpec {
        version: version.to_owned(),
        ..ClusterSpec::default()
    };
    Cluster::new("c", spec)
}

#[test]
fn all_steps_are_steps_of_flows() {
    let flows = FlowName::ALL.iter().flat_map(|flow| steps(*flow));
    let declared: BTreeSet<&str> = flows.map(|step| step.id).collect();
    let (_root, provider) = provider();
    for id in provider.steps.keys() {
        assert!(declared.contains(id), "{id}");
    }
}

#[test]
fn a_version_that_the_folder_lacks_is_missing() {
    let (root, provider) = provider();
    assert_eq!(provider.missing(&cluster("v1.36.4")), [""; 0]);
    let missing = provider.missing(&cluster("1.37.0"));
    let expected = format!("Kubernetes 1.37.0 in {}", root.path().display());
    assert_eq!(missing, [expected]);
    let without = Baremetal::new(None).missing(&cluster("1.36.4"));
    assert!(without[0].contains("--provider"), "{without:?}");
}

#[test]
fn a_cluster_is_deleted_without_a_folder() {
    let mut deleted = cluster("1.36.4");
    deleted.metadata.deletion_timestamp =
        Some(serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap());
    let without = Baremetal::new(None);
    assert_eq!(without.missing(&deleted), [""; 0]);
    assert!(without.step("EnsureRemoveMachine").is_some());
}
