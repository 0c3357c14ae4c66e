//! Stand-in machines with real SSH servers on loopback addresses, each with its own root folder, processes and boot id.
//!
//! They need root rights, because real SSH servers change users. A supervisor process outlives the test: when the test
//! process exits or is killed, the supervisor kills the machines and removes their folders.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use outrigger_node::stand_in::{PASSWORD, Programs, StandIn};
use outrigger_node::{Address, Connector, Credentials, HostKey, HostKeyPolicy, Machine, Target};
use rustix::process::{Pid, Signal, kill_process};

use crate::loopback::LoopbackBlock;
use crate::peers::{self, Peer};
use crate::supervisor::Supervisor;

const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// The SSH server of machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    OpenSsh,
    /// With the programs of busybox only.
    Dropbear,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub server: Server,
    pub count: usize,
    /// Further lines of sshd's configuration.
    pub configuration: String,
    /// Shell text that runs in the root folder before the server starts, such as mounts.
    pub mounts: String,
}

impl Options {
    pub fn new(server: Server) -> Self {
        Self {
            server,
            count: 1,
            configuration: String::new(),
            mounts: String::new(),
        }
    }
}

/// Running machines. Dropping them stops them and removes their folders.
#[derive(Debug)]
pub struct Machines {
    supervisor: Supervisor,
    all: Vec<StandInMachine>,
    options: Options,
    host_key: HostKey,
    // Last, so that it is released after the machines ended.
    addresses: LoopbackBlock,
}

/// One of the machines.
#[derive(Debug, Clone)]
pub struct StandInMachine {
    pub stand_in: StandIn,
    pub address: Ipv4Addr,
    name: String,
}

impl Machines {
    /// Starts machines, and waits until they accept connections.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "stand-in machines with real SSH servers need root rights"
        );
        let directory = tempfile::Builder::new()
            .prefix("outrigger-machines-")
            .tempdir()?;
        let path = directory.path().to_owned();
        let supervisor = Supervisor::start(directory)?;
        generate_keys(&path)?;
        let host_key = fs_err::read_to_string(path.join("host_key.pub"))?.parse()?;
        let mut machines = Self {
            supervisor,
            all: Vec::new(),
            options,
            host_key,
            addresses: LoopbackBlock::reserve()?,
        };
        for number in 0..machines.options.count {
            let number = u32::try_from(number)?;
            let address = machines.addresses.address(number);
            machines.create(number, address)?;
        }
        for index in 0..machines.all.len() {
            machines.boot(index)?;
        }
        for machine in &machines.all {
            machines.wait_until_ready(machine)?;
        }
        Ok(machines)
    }

    pub fn machines(&self) -> &[StandInMachine] {
        &self.all
    }

    /// The key of all machines of this group.
    pub fn host_key(&self) -> &HostKey {
        &self.host_key
    }

    /// The folder of all machines and logs.
    pub fn directory(&self) -> &Path {
        self.supervisor.directory()
    }

    /// The private key that root and admin of all machines accept.
    pub fn private_key(&self) -> PathBuf {
        self.directory().join("user_key")
    }

    /// How to reach a machine as a user, by the password of stand-ins.
    pub fn target(&self, index: usize, user: &str) -> Target {
        let address = self.all[index].address.to_string();
        Target {
            address: Address::new(user, address, 22).expect("an IP address is a valid host"),
            credentials: Credentials::password(PASSWORD),
            host_key: HostKeyPolicy::pinned(self.host_key.clone()),
            jump: None,
        }
    }

    /// How to reach a machine as root, by the private key.
    pub fn key_target(&self, index: usize) -> anyhow::Result<Target> {
        let key = fs_err::read_to_string(self.private_key())?;
        Ok(Target {
            credentials: Credentials::private_key(key),
            ..self.target(index, "root")
        })
    }

    /// A machine as root, not connected yet.
    pub fn machine(&self, index: usize) -> Machine {
        Machine::ssh(self.target(index, "root"), &Connector::default())
    }

    /// Cuts all connections to a machine. What runs on it goes on.
    pub fn cut_connections(&self, index: usize) -> anyhow::Result<()> {
        // The first process is the server that listens.
        for process in self.server_processes(index)?.into_iter().skip(1) {
            send(process, Signal::KILL);
        }
        Ok(())
    }

    /// Takes the SSH server of a machine off the network: it accepts connections, and does not answer. What runs on the
    /// machine goes on.
    pub fn go_offline(&self, index: usize) -> anyhow::Result<()> {
        for process in self.server_processes(index)? {
            send(process, Signal::STOP);
        }
        Ok(())
    }

    /// The machine answers again, also on the connections that it had.
    pub fn come_back(&self, index: usize) -> anyhow::Result<()> {
        for process in self.server_processes(index)? {
            send(process, Signal::CONT);
        }
        Ok(())
    }

    /// The processes of the SSH server of a machine, the listening one first.
    fn server_processes(&self, index: usize) -> anyhow::Result<Vec<i32>> {
        let mut processes = vec![self.process(index)?];
        let all = all_processes();
        let mut next = 0;
        while let Some(parent) = processes.get(next).copied() {
            let children = all.iter().filter(|process| process.parent == parent);
            let servers = children.filter(|process| {
                process.name.starts_with("sshd") || process.name.starts_with("dropbear")
            });
            processes.extend(servers.map(|process| process.id));
            next += 1;
        }
        // Not the process that made the namespaces.
        processes.remove(0);
        Ok(processes)
    }

    fn process(&self, index: usize) -> anyhow::Result<i32> {
        let file = format!("{}.pid", self.all[index].name);
        let pid = fs_err::read_to_string(self.directory().join(file))?;
        Ok(pid.trim().parse()?)
    }

    /// Ends all processes of a machine at once, as a power failure does.
    pub fn power_off(&self, index: usize) -> anyhow::Result<()> {
        let machine = &self.all[index];
        let pid = Pid::from_raw(self.process(index)?).context("the machine has no process")?;
        kill_process(pid, Signal::KILL)?;
        let deadline = Instant::now() + READY_TIMEOUT;
        while TcpStream::connect(SocketAddr::from((machine.address, 22))).is_ok() {
            ensure!(Instant::now() < deadline, "the machine did not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Starts a machine that was powered off, with a new boot id.
    pub fn power_on(&mut self, index: usize) -> anyhow::Result<()> {
        self.all[index].stand_in.reboot()?;
        self.boot(index)?;
        self.wait_until_ready(&self.all[index])
    }

    fn create(&mut self, number: u32, address: Ipv4Addr) -> anyhow::Result<()> {
        let name = format!("machine-{number}");
        let root = self.directory().join(&name);
        let busybox = peers::DROPBEAR.folder()?.join("bin/busybox");
        let programs = match self.options.server {
            Server::OpenSsh => Programs::Host,
            Server::Dropbear => Programs::Busybox(&busybox),
        };
        let stand_in = StandIn::create(&root, &name, programs)?;
        let ssh = stand_in.path("etc/ssh");
        for key in ["host_key", "dropbear_key"] {
            let source = self.directory().join(key);
            if source.exists() {
                fs_err::copy(source, ssh.join(key))?;
            }
        }
        let authorized = fs_err::read_to_string(self.directory().join("user_key.pub"))?;
        fs_err::write(ssh.join("authorized_keys"), &authorized)?;
        if self.options.server == Server::Dropbear {
            let folder = stand_in.path("root/.ssh");
            fs_err::create_dir(&folder)?;
            fs_err::write(folder.join("authorized_keys"), &authorized)?;
        }
        let configuration = &self.options.configuration;
        // The first value of an option holds.
        let configuration = format!("{configuration}\nListenAddress {address}\n{SSHD_CONFIG}");
        fs_err::write(ssh.join("sshd_config"), configuration)?;
        let peer = self.peer();
        peer.installed()?;
        stand_in.share_folder(peer.name, &peer.folder()?)?;
        self.all.push(StandInMachine {
            stand_in,
            address,
            name,
        });
        Ok(())
    }

    fn peer(&self) -> Peer {
        match self.options.server {
            Server::OpenSsh => peers::SSHD,
            Server::Dropbear => peers::DROPBEAR,
        }
    }

    fn boot(&mut self, index: usize) -> anyhow::Result<()> {
        let machine = self.all[index].clone();
        let peer = self.peer();
        let libraries = peer.libraries()?;
        let libraries = libraries
            .strip_prefix(peer.folder()?)?
            .display()
            .to_string();
        let libraries = format!("LD_LIBRARY_PATH=/opt/{}/{libraries}", peer.name);
        let address = format!("{}:22", machine.address);
        let init = match self.options.server {
            Server::OpenSsh => ["/opt/sshd/usr/sbin/sshd -D -e -f /etc/ssh/sshd_config"].join(" "),
            Server::Dropbear => {
                format!(
                    "/opt/dropbear/usr/sbin/dropbear -F -E -r /etc/ssh/dropbear_key -p {address}"
                )
            }
        };
        let init: Vec<&str> = ["env", &libraries]
            .into_iter()
            .chain(init.split(' '))
            .collect();
        let start = machine.stand_in.command(&init);
        let mounts = outrigger_node::quote(&self.options.mounts);
        self.supervisor.start_command(
            &machine.name,
            &format!("env OUTRIGGER_MOUNTS={mounts} {start}"),
        )
    }

    fn wait_until_ready(&self, machine: &StandInMachine) -> anyhow::Result<()> {
        let deadline = Instant::now() + READY_TIMEOUT;
        while TcpStream::connect(SocketAddr::from((machine.address, 22))).is_err() {
            if Instant::now() > deadline {
                let log = self.directory().join(format!("{}.log", machine.name));
                let log = fs_err::read_to_string(log).unwrap_or_default();
                bail!("{} did not start:\n{log}", machine.name);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// A process of the host.
struct Process {
    id: i32,
    parent: i32,
    name: String,
}

fn all_processes() -> Vec<Process> {
    let entries = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| fs_err::read_to_string(entry.path().join("stat")).ok());
    let parse = |stat: String| {
        let (id, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        Some(Process {
            id: id.parse().ok()?,
            parent: rest.split(' ').nth(1)?.parse().ok()?,
            name: name.to_owned(),
        })
    };
    stats.filter_map(parse).collect()
}

/// Sends a signal to a process that may have ended.
fn send(process: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(process) {
        let _ = kill_process(pid, signal);
    }
}

/// Options of sshd. Reverse lookups and PAM are off, as in most machine images that are made for SSH.
const SSHD_CONFIG: &str = "Port 22
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PidFile none
UsePAM no
UseDNS no
PasswordAuthentication yes
PermitRootLogin yes
StrictModes no
LogLevel ERROR
MaxStartups 1000
PerSourceMaxStartups none
PrintMotd no
Subsystem sftp /opt/sshd/usr/lib/openssh/sftp-server
";

/// Host and user keys, made by the peers' own tools.
fn generate_keys(directory: &Path) -> anyhow::Result<()> {
    for key in ["host_key", "user_key"] {
        generate_key(&directory.join(key))?;
    }
    let convert = peers::DROPBEAR.folder()?.join("usr/bin/dropbearconvert");
    let converted = command(convert)
        .env("LD_LIBRARY_PATH", peers::DROPBEAR.libraries()?)
        .args(["openssh", "dropbear"])
        .arg(directory.join("host_key"))
        .arg(directory.join("dropbear_key"))
        .output()?;
    ensure!(
        converted.status.success(),
        "dropbearconvert failed: {}",
        String::from_utf8_lossy(&converted.stderr)
    );
    Ok(())
}

/// Writes a private key, and the public one beside it.
pub(crate) fn generate_key(path: &Path) -> anyhow::Result<()> {
    let keygen = peers::SSHD.folder()?.join("usr/bin/ssh-keygen");
    let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"];
    run(command(keygen).args(arguments).arg(path)).map(drop)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that runs tools for machines"
)]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

pub(crate) fn run(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command
        .output()
        .with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output.stdout)
}
