//! The clusters that the suite runs on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use outrigger_testing::kubernetes::{self, RealKubernetes};
use outrigger_testing::peers;
use serde_json::Value;

use super::processes::{Process, free_address};
use crate::process::{EmbeddedServer, Options, command};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cluster {
    /// The embedded server with simulated workloads.
    Simulated,
    /// The embedded server with kube-controller-manager, kube-scheduler and kwok, which acts as kubelet.
    WithControllers,
    /// A real server with the same.
    Real,
}

impl Cluster {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::WithControllers => "with-controllers",
            Self::Real => "real",
        }
    }
}

/// A running cluster. Dropping it stops its processes.
#[derive(Debug)]
pub(super) struct Running {
    kubeconfig: PathBuf,
    _controllers: Vec<Process>,
    _embedded: Option<EmbeddedServer>,
    _real: Option<RealKubernetes>,
}

impl Running {
    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

pub(super) async fn start(
    cluster: Cluster,
    binary: &Path,
    scratch: &Path,
) -> anyhow::Result<Running> {
    let directory = scratch.join(cluster.name());
    fs_err::create_dir_all(&directory)?;
    if cluster == Cluster::Real {
        let real = RealKubernetes::start(kubernetes::Options::default()).await?;
        let kubeconfig = real.kubeconfig().to_owned();
        return Ok(Running {
            _controllers: nodes(&kubeconfig, &directory).await?,
            kubeconfig,
            _embedded: None,
            _real: Some(real),
        });
    }
    let options = Options {
        binary: binary.to_owned(),
        data: directory.join("data"),
        simulate_workloads: cluster == Cluster::Simulated,
    };
    let embedded = EmbeddedServer::start(&options).await?;
    let kubeconfig = directory.join("data.kubeconfig");
    let mut controllers = Vec::new();
    if cluster == Cluster::WithControllers {
        controllers.push(controller_manager(&kubeconfig, &directory)?);
        controllers.extend(nodes(&kubeconfig, &directory).await?);
    }
    Ok(Running {
        kubeconfig,
        _controllers: controllers,
        _embedded: Some(embedded),
        _real: None,
    })
}

fn controller_manager(kubeconfig: &Path, directory: &Path) -> anyhow::Result<Process> {
    let authority = directory.join("ca.crt");
    fs_err::write(&authority, certificate_authority(kubeconfig)?)?;
    let program = peers::KUBE_CONTROLLER_MANAGER.installed()?;
    let mut arguments = common_arguments(kubeconfig, directory, "kube-controller-manager")?;
    arguments.push("--use-service-account-credentials=true".to_owned());
    arguments.push(format!("--root-ca-file={}", authority.display()));
    Process::start(&program, &arguments, directory)
}

fn common_arguments(
    kubeconfig: &Path,
    directory: &Path,
    name: &str,
) -> anyhow::Result<Vec<String>> {
    let address = free_address()?;
    let kubeconfig = kubeconfig.display();
    Ok(vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        format!("--bind-address={}", address.ip()),
        format!("--secure-port={}", address.port()),
        format!("--cert-dir={}", directory.join(name).display()),
        "--leader-elect=false".to_owned(),
    ])
}

fn certificate_authority(kubeconfig: &Path) -> anyhow::Result<Vec<u8>> {
    let value = outrigger_goyaml::parse_json(&fs_err::read(kubeconfig)?)?;
    let data = &value["clusters"][0]["cluster"]["certificate-authority-data"];
    let data = data
        .as_str()
        .context("the kubeconfig has no certificate authority")?;
    Ok(base64::engine::general_purpose::STANDARD.decode(data)?)
}

/// Creates two nodes, and starts a scheduler and a kubelet for them.
async fn nodes(kubeconfig: &Path, directory: &Path) -> anyhow::Result<Vec<Process>> {
    let manifest = directory.join("nodes.json");
    let items: Vec<Value> = ["n1", "n2"].iter().map(|name| node(name)).collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    fs_err::write(&manifest, list.to_string())?;
    let status = command(peers::KUBECTL.installed()?)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["create", "-f"])
        .arg(&manifest)
        .status()
        .await?;
    ensure!(status.success(), "kubectl could not create the nodes");
    let scheduler = common_arguments(kubeconfig, directory, "kube-scheduler")?;
    let kwok = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--manage-all-nodes=true".to_owned(),
        "--node-lease-duration-seconds=40".to_owned(),
    ];
    Ok(vec![
        Process::start(&peers::KUBE_SCHEDULER.installed()?, &scheduler, directory)?,
        Process::start(&peers::KWOK.installed()?, &kwok, directory)?,
    ])
}

fn node(name: &str) -> Value {
    let room = serde_json::json!({"cpu": "32", "memory": "256Gi", "pods": "110"});
    serde_json::json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            },
        },
        "status": {"allocatable": room, "capacity": room},
    })
}
