//! A machine of the lab: power, cable and disk.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use outrigger_node::{Address, Connector, Credentials, HostKey, HostKeyPolicy, Machine, Target};
use outrigger_peers::lab as artifacts;

use super::{Namespaces, Options, wait_for_ssh};
use crate::machines::run;

/// Network devices are named after machines, and have at most 15 characters.
const MAX_NAME: usize = 13;

/// A machine with the address that only the network of its lab knows.
#[derive(Debug, Clone)]
pub struct LabMachine {
    namespaces: Arc<Namespaces>,
    name: String,
    address: Ipv4Addr,
    options: Options,
}

impl LabMachine {
    /// Starts to boot.
    pub(super) fn create(
        namespaces: Arc<Namespaces>,
        name: &str,
        address: Ipv4Addr,
        options: Options,
    ) -> anyhow::Result<Self> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        ensure!(
            !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_valid),
            "{name:?} is not a name of a machine: letters, digits and -, at most {MAX_NAME}"
        );
        let machine = Self {
            namespaces,
            name: name.to_owned(),
            address,
            options,
        };
        ensure!(
            !machine.disk().exists(),
            "the lab has a machine {name} already"
        );
        machine.boot()?;
        Ok(machine)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The key that the SSH server generated when the machine was installed.
    pub fn host_key(&self) -> anyhow::Result<HostKey> {
        let path = self.disk().join("upper/etc/ssh/ssh_host_ed25519_key.pub");
        Ok(fs_err::read_to_string(path)?.parse()?)
    }

    /// How to reach the machine as root, from the network of the lab.
    pub fn target(&self) -> anyhow::Result<Target> {
        let key = self.namespaces.directory().join("user_key");
        Ok(Target {
            address: Address::new("root", self.address.to_string(), 22)?,
            credentials: Credentials::private_key(fs_err::read_to_string(key)?),
            host_key: HostKeyPolicy::pinned(self.host_key()?),
            jump: None,
        })
    }

    /// The machine as root, not connected yet.
    pub fn ssh(&self) -> anyhow::Result<Machine> {
        Ok(Machine::ssh(self.target()?, &Connector::default()))
    }

    /// Ends all processes of the machine at once, as a power failure does.
    pub fn power_off(&self) -> anyhow::Result<()> {
        let arguments = [self.namespaces.id(), &self.name];
        self.namespaces.run_script("power_off.sh", &arguments)
    }

    /// Boots the machine with the disk it has and a new boot id, with its cable plugged in, and waits for its SSH server.
    pub fn power_on(&self) -> anyhow::Result<()> {
        self.boot()?;
        self.wait_until_ready()
    }

    /// From now on no packet reaches the machine or leaves it; its network device has no carrier.
    pub fn unplug(&self) -> anyhow::Result<()> {
        self.set_cable("down")
    }

    /// Undoes [`unplug`](Self::unplug).
    pub fn plug_in(&self) -> anyhow::Result<()> {
        self.set_cable("up")
    }

    /// Leaves no free space on the disk.
    pub fn fill_disk(&self) -> anyhow::Result<()> {
        let disk = self.disk_in_lab();
        let mut df = self.namespaces.command("df");
        let used = run(df.args(["--output=used", "-B1"]).arg(&disk))?;
        let used = String::from_utf8(used)?;
        let used = used.lines().nth(1).context("df printed no size")?;
        self.resize_disk(used.trim().parse()?)
    }

    /// Undoes [`fill_disk`](Self::fill_disk).
    pub fn free_disk(&self) -> anyhow::Result<()> {
        self.resize_disk(self.options.disk_bytes)
    }

    pub(super) fn wait_until_ready(&self) -> anyhow::Result<()> {
        wait_for_ssh(&self.namespaces, self.address).with_context(|| {
            let log = self
                .namespaces
                .directory()
                .join(format!("{}.log", self.name));
            let log = fs_err::read_to_string(log).unwrap_or_default();
            format!("{} did not boot:\n{log}", self.name)
        })
    }

    fn boot(&self) -> anyhow::Result<()> {
        let root = artifacts::root()?.display().to_string();
        let address = self.address.to_string();
        let size = self.options.disk_bytes.to_string();
        let arguments = [self.namespaces.id(), &self.name, &address, &root, &size];
        self.namespaces.run_script("power_on.sh", &arguments)
    }

    fn set_cable(&self, state: &str) -> anyhow::Result<()> {
        let device = format!("v-{}", self.name);
        let mut ip = self.namespaces.command("ip");
        run(ip.args(["link", "set", &device, state])).map(drop)
    }

    fn resize_disk(&self, bytes: u64) -> anyhow::Result<()> {
        let mut mount = self.namespaces.command("mount");
        mount.args(["-o", &format!("remount,size={bytes}")]);
        run(mount.arg(self.disk_in_lab())).map(drop)
    }

    /// The disk, as this process sees it.
    fn disk(&self) -> std::path::PathBuf {
        self.namespaces.path(Path::new("machines").join(&self.name))
    }

    fn disk_in_lab(&self) -> std::path::PathBuf {
        let directory = self.namespaces.directory();
        directory.join("machines").join(&self.name)
    }
}
