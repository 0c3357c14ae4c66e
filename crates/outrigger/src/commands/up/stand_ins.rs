//! Stand-in machines of `up --cluster`: processes with a root directory and an SSH server of their own, on loopback addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use outrigger_api::RedactedBytes;
use outrigger_api::annotation::STAND_IN_MACHINES;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::MachineAccess;
use outrigger_node::stand_in::{Programs, StandIn};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::commands::cluster::file::Manifests;
use crate::commands::machine::stand_in::{PASSWORD, READY, SEED};
use crate::report::{self, HintExt as _, note};

const READY_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a machine that ended stays off.
const RESTART_DELAY: Duration = Duration::from_secs(1);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(30);
/// Where a machine has its own settings.
const SETTINGS: &str = "/etc/outrigger";
/// The first process of a machine: reaps processes that lost their parent. Shells replace the stdin of what they run in
/// the background.
const INIT: &str = r#"exec 3<&0; "$@" <&3 3<&- & exec 3<&-; wait $!"#;

/// Running machines, which are started again if they end. They end with this process, however it ends.
#[derive(Debug)]
pub(crate) struct StandIns {
    supervisors: Vec<JoinHandle<()>>,
    is_stopping: watch::Sender<bool>,
    directory: PathBuf,
    is_temporary: bool,
}

impl StandIns {
    /// Gives the stand-in machines of clusters another port than that of the manifest.
    pub(crate) fn set_port(manifests: &mut Manifests, port: u16) {
        let names = stand_in_clusters(&manifests.clusters);
        let clusters = manifests.clusters.iter_mut();
        let clusters = clusters.filter(|cluster| is_stand_in(cluster));
        let workers = manifests.machines.iter_mut();
        let workers = workers.filter(|machine| names.contains(&machine.spec.cluster));
        let machines = clusters.flat_map(|cluster| &mut cluster.spec.machines);
        for access in machines.chain(workers.map(|machine| &mut machine.spec.access)) {
            access.port = port;
        }
    }

    /// Starts the machines of all clusters that ask for it.
    pub(crate) async fn start(manifests: &Manifests, data: Option<&Path>) -> anyhow::Result<Self> {
        let machines = machines(manifests);
        let directory = match data {
            Some(data) => data.join("machines"),
            None if machines.is_empty() => PathBuf::new(),
            None => crate::commands::local_platform::private_temporary_directory()?,
        };
        let mut stand_ins = Self {
            supervisors: Vec::new(),
            is_stopping: watch::Sender::new(false),
            directory,
            is_temporary: data.is_none() && !machines.is_empty(),
        };
        check(manifests)?;
        ensure_free(&machines)?;
        for access in &machines {
            let machine = Supervised {
                directory: stand_ins.directory.clone(),
                access: MachineAccess::clone(access),
            };
            let process = machine.start().await?;
            let supervisor = machine.supervise(process, stand_ins.is_stopping.subscribe());
            stand_ins.supervisors.push(tokio::spawn(supervisor));
        }
        if !machines.is_empty() {
            let directory = stand_ins.directory.display();
            note(&match machines.len() {
                1 => format!("1 stand-in machine is running; its root directory is in {directory}"),
                count => format!(
                    "{count} stand-in machines are running; their root directories are in {directory}"
                ),
            });
        }
        Ok(stand_ins)
    }

    /// Stops all machines and removes their directories.
    pub(crate) async fn stop(self) {
        self.is_stopping.send_replace(true);
        futures::future::join_all(self.supervisors).await;
        if self.is_temporary
            && let Err(error) = fs_err::remove_dir_all(&self.directory)
        {
            note(&format!(
                "failed to remove the directory of stand-in machines: {error}"
            ));
        }
    }
}

/// A machine that is started again if it ends.
struct Supervised {
    /// That of all machines.
    directory: PathBuf,
    access: MachineAccess,
}

impl Supervised {
    async fn start(&self) -> anyhow::Result<Child> {
        let started = self.try_start().await;
        started.with_context(|| format!("failed to start a stand-in for {}", self.access.address()))
    }

    /// Waits for the end of the machine, and starts it again, with another boot id, like one that lost its power.
    async fn supervise(self, mut process: Child, mut is_stopping: watch::Receiver<bool>) {
        let address = self.access.address();
        loop {
            // The machine ends with its stdin, which waiting for it would close.
            let stdin = process.stdin.take();
            let stopped = tokio::select! {
                _ = process.wait() => false,
                _ = is_stopping.wait_for(|is_stopping| *is_stopping) => true,
            };
            drop(stdin);
            if stopped {
                // If it does not end, it is killed.
                let _ = tokio::time::timeout(STOP_TIMEOUT, process.wait()).await;
                return;
            }
            note(&format!(
                "the stand-in machine at {address} has ended: it is started again"
            ));
            let restarted = tokio::select! {
                process = self.restart() => process,
                _ = is_stopping.wait_for(|is_stopping| *is_stopping) => return,
            };
            note(&format!("the stand-in machine at {address} is running"));
            process = restarted;
        }
    }

    /// Tries to start it until it runs.
    async fn restart(&self) -> Child {
        let mut delay = RESTART_DELAY;
        loop {
            tokio::time::sleep(delay).await;
            match self.start().await {
                Ok(process) => return process,
                Err(error) => note(&report::text(&error)),
            }
            delay = (delay * 2).min(MAX_RESTART_DELAY);
        }
    }

    async fn try_start(&self) -> anyhow::Result<Child> {
        let access = &self.access;
        let (address, password) = checked(access)?;
        let name = format!("machine-{}", access.ip.replace(['.', ':'], "-"));
        let stand_in = StandIn::create(&self.directory.join(&name), &name, Programs::Host)?;
        let settings = stand_in.path(SETTINGS);
        fs_err::create_dir_all(&settings)?;
        fs_err::set_permissions(&settings, std::fs::Permissions::from_mode(0o700))?;
        fs_err::write(settings.join(PASSWORD), password.expose())?;
        if !settings.join(SEED).exists() {
            let mut seed = [0; 32];
            getrandom::fill(&mut seed).context("failed to read random bytes")?;
            fs_err::write(settings.join(SEED), seed)?;
        }
        let program = std::env::current_exe().context("failed to find this program")?;
        let directory = program.parent().context("this program has no directory")?;
        stand_in.share_folder("outrigger", directory)?;
        let file = program.file_name().unwrap_or_default().to_string_lossy();
        let program = format!("/opt/outrigger/{file}");
        let listen = std::net::SocketAddr::new(address, access.port).to_string();
        let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let init = [
            "env",
            "-i",
            "HOME=/root",
            "USER=root",
            path,
            "/bin/sh",
            "-c",
            INIT,
            "sh",
            &program,
            "machine",
            "stand-in",
            "--listen",
            &listen,
            "--folder",
            SETTINGS,
        ];
        let started = async {
            let mut process = stand_in.start(&init)?;
            tokio::time::timeout(READY_TIMEOUT, until_ready(&mut process))
                .await
                .context("the machine does not become ready")??;
            anyhow::Ok(process)
        };
        started
            .await
            .hint("stand-in machines need Linux, and root rights or user namespaces")
    }
}

/// Fails if a manifest asks for a machine that cannot be a stand-in.
pub(crate) fn check(manifests: &Manifests) -> anyhow::Result<()> {
    for access in machines(manifests) {
        let checked = checked(access).map(drop);
        checked.with_context(|| format!("there is no stand-in for {}", access.address()))?;
    }
    Ok(())
}

/// The address and the password of a machine.
fn checked(access: &MachineAccess) -> anyhow::Result<(IpAddr, &RedactedBytes)> {
    let address: IpAddr = access.ip.parse()?;
    ensure!(address.is_loopback(), "{address} is not a loopback address");
    ensure!(access.username == "root", "the user must be root");
    let password = access.password.as_ref().context("there is no password");
    let password =
        password.hint("a stand-in machine needs `password` in the manifest, not `secretRef`")?;
    Ok((address, password))
}

/// Fails if something listens at the address of a machine: two runs of one manifest would get into each other's way.
fn ensure_free(machines: &[&MachineAccess]) -> anyhow::Result<()> {
    for access in machines {
        let address = access.address();
        match std::net::TcpListener::bind(&address) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                let error = anyhow::anyhow!("{address} is in use, perhaps by another outrigger up");
                return Err(error).hint("--stand-in-port gives stand-in machines another port");
            }
            // Other errors are reported when the machine starts.
            _ => {}
        }
    }
    Ok(())
}

/// The machines of clusters that ask for stand-ins: the control plane and workers.
fn machines(manifests: &Manifests) -> Vec<&MachineAccess> {
    let names = stand_in_clusters(&manifests.clusters);
    let clusters = manifests.clusters.iter();
    let clusters = clusters.filter(|cluster| is_stand_in(cluster));
    let workers = manifests.machines.iter();
    let workers = workers.filter(|machine| names.contains(&machine.spec.cluster));
    let machines = clusters.flat_map(|cluster| &cluster.spec.machines);
    machines
        .chain(workers.map(|machine| &machine.spec.access))
        .collect()
}

fn stand_in_clusters(clusters: &[Cluster]) -> BTreeSet<String> {
    let clusters = clusters.iter().filter(|cluster| is_stand_in(cluster));
    let names = clusters.filter_map(|cluster| cluster.metadata.name.clone());
    names.collect()
}

fn is_stand_in(cluster: &Cluster) -> bool {
    let annotations = cluster.metadata.annotations.as_ref();
    annotations.is_some_and(|all| {
        all.get(STAND_IN_MACHINES)
            .is_some_and(|value| value == "true")
    })
}

async fn until_ready(process: &mut Child) -> anyhow::Result<()> {
    let stdout = process.stdout.as_mut().context("stdout is a pipe")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await?;
    if line.trim_end() == READY {
        return Ok(());
    }
    let mut errors = String::new();
    if let Some(stderr) = &mut process.stderr {
        stderr.read_to_string(&mut errors).await?;
    }
    bail!("{}", errors.trim())
}

#[cfg(test)]
mod tests {
    use outrigger_api::machine::Machine;
    use serde_json::json;

    use super::*;

    fn cluster(annotations: &serde_json::Value, port: u16) -> Cluster {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
            "metadata": {"name": "a", "annotations": annotations},
            "spec": {"version": "1.0.0", "machines": [{"ip": "127.0.0.1", "port": port, "password": "eA=="}]},
        }))
        .unwrap()
    }

    fn worker(cluster: &str) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": "w"},
            "spec": {"cluster": cluster, "role": "Worker", "ip": "127.0.0.2", "port": 22},
        }))
        .unwrap()
    }

    fn manifests(clusters: Vec<Cluster>, machines: Vec<Machine>) -> Manifests {
        Manifests {
            clusters,
            machines,
            ..Manifests::default()
        }
    }

    #[test]
    fn only_stand_in_machines_get_another_port() {
        let mut real = cluster(&json!({}), 22);
        real.metadata.name = Some("real".to_owned());
        let stand_in = cluster(&json!({STAND_IN_MACHINES: "true"}), 2222);
        let mut manifests = manifests(vec![stand_in, real], vec![worker("a"), worker("real")]);
        StandIns::set_port(&mut manifests, 2200);
        let ports = manifests.clusters.iter().map(|it| it.spec.machines[0].port);
        assert_eq!(ports.collect::<Vec<_>>(), [2200, 22]);
        let ports = manifests.machines.iter().map(|it| it.spec.access.port);
        assert_eq!(ports.collect::<Vec<_>>(), [2200, 22]);
    }

    #[test]
    fn workers_of_a_stand_in_cluster_are_stand_ins_too() {
        let stand_in = cluster(&json!({STAND_IN_MACHINES: "true"}), 2222);
        let manifests = manifests(vec![stand_in], vec![worker("a"), worker("other")]);
        let addresses: Vec<&str> = machines(&manifests).iter().map(|it| &*it.ip).collect();
        assert_eq!(addresses, ["127.0.0.1", "127.0.0.2"]);
    }

    #[test]
    fn a_stand_in_needs_a_password_in_the_manifest() {
        let mut cluster = cluster(&json!({STAND_IN_MACHINES: "true"}), 2222);
        check(&manifests(vec![cluster.clone()], Vec::new())).unwrap();
        cluster.spec.machines[0].password = None;
        let error = check(&manifests(vec![cluster], Vec::new())).unwrap_err();
        let expected = "Error: there is no stand-in for 127.0.0.1:2222\n  caused by: there is no password\n\
                        hint: a stand-in machine needs `password` in the manifest, not `secretRef`\n";
        assert_eq!(report::text(&error), expected);
    }

    #[tokio::test]
    async fn an_address_in_use_is_named_before_a_machine_starts() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let clusters = vec![cluster(&json!({STAND_IN_MACHINES: "true"}), port)];
        let folder = tempfile::tempdir().unwrap();
        let error = StandIns::start(&manifests(clusters, Vec::new()), Some(folder.path())).await;
        let error = error.unwrap_err().to_string();
        let expected = format!("127.0.0.1:{port} is in use, perhaps by another outrigger up");
        assert_eq!(error, expected);
    }
}
