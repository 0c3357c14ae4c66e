//! Clusters on machines of a lab: the provider folder with the lab's programs and images, and what a spec needs there.

use std::path::{Path, PathBuf};

use outrigger_api::RedactedBytes;
use outrigger_peers::lab::Release;
use serde_json::{Value, json};

use super::{Lab, LabMachine};

/// Go's name of the architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The folder of a release in a provider folder.
pub fn release_folder(root: &Path, release: Release) -> PathBuf {
    root.join(release.kubernetes).join(architecture())
}

/// Adds the programs and images of a release to a provider folder, without its index.
pub fn add_release(root: &Path, release: Release) -> anyhow::Result<()> {
    let folder = release_folder(root, release);
    for kind in ["bin", "images"] {
        fs_err::create_dir_all(folder.join(kind))?;
    }
    for name in ["kubeadm", "kubelet", "kubectl", "crictl"] {
        let program = release.peer(name)?.installed()?;
        add(&program, &folder.join("bin").join(name))?;
    }
    for (name, _) in release.image_references()? {
        let archive = format!("{name}.tar");
        let source = release.images()?.join(&archive);
        add(&source, &folder.join("images").join(archive))?;
    }
    Ok(())
}

/// Copies take seconds, and fail to be links only on another file system.
fn add(source: &Path, destination: &Path) -> anyhow::Result<()> {
    if fs_err::hard_link(source, destination).is_err() {
        fs_err::copy(source, destination)?;
    }
    Ok(())
}

/// The spec of a cluster of the provider `baremetal`.
pub fn spec(lab: &Lab, release: Release, control_plane: &[LabMachine]) -> anyhow::Result<Value> {
    let machines: Vec<Value> = control_plane
        .iter()
        .map(|machine| access(lab, machine))
        .collect::<Result<_, _>>()?;
    Ok(json!({
        "type": "Baremetal", "provider": "baremetal", "version": release.kubernetes,
        "clusterCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/16",
        "machines": machines,
        // What the kernel of the host does not allow.
        "ignorePreflightErrors": ["SystemVerification"],
        "kubeletConfig": {"failCgroupV1": false},
        "kubeProxy": {"config": {"conntrack": {"maxPerCore": 0, "min": 0}}},
    }))
}

/// How to reach a machine, as a spec has it.
pub fn access(lab: &Lab, machine: &LabMachine) -> anyhow::Result<Value> {
    let key = RedactedBytes::new(fs_err::read(lab.private_key())?);
    Ok(json!({"ip": machine.address(), "privateKey": serde_json::to_value(&key)?}))
}
