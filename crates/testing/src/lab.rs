//! The lab: machines that an SSH client cannot tell from Debian servers, each with its own systemd, SSH server, disk, network
//! and container runtime. They share the kernel of the host, so they need root rights, and run trusted code only.
//!
//! ```text
//! harness ─stdin─→ outer.sh ─→ init.sh: namespaces of the lab (processes, mounts, network with a bridge)
//!                                 └─ boot.sh: namespaces of a machine, its disk (a tmpfs), then systemd
//! ```
//!
//! When the harness ends, however it ends, stdin is closed and init.sh exits. Then the kernel kills all processes of the lab,
//! and disks and networks are gone; outer.sh removes the control groups and the folder. Only if outer.sh is killed as well,
//! empty control groups are left, which the next lab removes.
//!
//! The network of the lab is connected to nothing. [`Lab::enter`] moves the calling thread into it, with the processes and
//! threads that it starts from then on.

use std::io::Read as _;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use outrigger_peers::lab::{self as artifacts, Release};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub mod cluster;
mod control_groups;
mod machine;
mod namespaces;

pub use machine::LabMachine;
use namespaces::Namespaces;

const READY_TIMEOUT: Duration = Duration::from_mins(2);

/// A network with machines. Dropping it and its machines ends them.
#[derive(Debug)]
pub struct Lab {
    namespaces: Arc<Namespaces>,
    count: AtomicU8,
}

/// What a machine is made of.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The disk is in memory, which it takes as it is filled.
    pub disk_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            disk_bytes: 8 << 30,
        }
    }
}

impl Lab {
    /// Starts a network without machines.
    pub fn new() -> anyhow::Result<Self> {
        Self::check(artifacts::CURRENT)?;
        control_groups::remove_those_of_dead_labs()?;
        Ok(Self {
            namespaces: Arc::new(Namespaces::start()?),
            count: AtomicU8::new(0),
        })
    }

    /// Fails with the reason if this host cannot run a lab.
    pub fn check(release: Release) -> anyhow::Result<()> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "the lab needs root rights"
        );
        ensure!(
            Path::new("/sys/fs/cgroup/pids/cgroup.procs").exists(),
            "the lab needs version 1 of control groups, one hierarchy for each controller, in /sys/fs/cgroup"
        );
        release.installed()
    }

    /// The name of the lab's control groups, unique on this host.
    pub fn id(&self) -> &str {
        self.namespaces.id()
    }

    /// The folder of logs and keys.
    pub fn directory(&self) -> &Path {
        self.namespaces.directory()
    }

    /// The private key that root of each machine accepts.
    pub fn private_key(&self) -> PathBuf {
        self.directory().join("user_key")
    }

    /// Boots a machine, and waits until its SSH server answers.
    pub fn machine(&self, name: &str) -> anyhow::Result<LabMachine> {
        let machines = self.machines(&[name], Options::default())?;
        machines.into_iter().next().context("one machine is booted")
    }

    /// Boots machines at the same time.
    pub fn machines(&self, names: &[&str], options: Options) -> anyhow::Result<Vec<LabMachine>> {
        let machines = names.iter().map(|name| {
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            ensure!(number < 200, "the network of the lab is full");
            let address = Ipv4Addr::new(10, 89, 0, number + 10);
            LabMachine::create(Arc::clone(&self.namespaces), name, address, options)
        });
        let machines: Vec<LabMachine> = machines.collect::<Result<_, _>>()?;
        for machine in &machines {
            machine.wait_until_ready()?;
        }
        Ok(machines)
    }

    /// Moves the calling thread into the network of the lab until the returned value is dropped. Threads and processes
    /// that it starts are in the network as well, those that exist are not.
    pub fn enter(&self) -> anyhow::Result<Entered> {
        Entered::new(&self.namespaces)
    }
}

/// A thread is in the network of a lab.
#[derive(Debug)]
pub struct Entered {
    outside: fs_err::File,
    /// Namespaces belong to threads.
    _not_send: PhantomData<*const ()>,
}

impl Entered {
    fn new(namespaces: &Namespaces) -> anyhow::Result<Self> {
        let outside = fs_err::File::open("/proc/thread-self/ns/net")?;
        let network = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(namespaces.network().as_fd(), network)
            .context("failed to enter the network of the lab")?;
        Ok(Self {
            outside,
            _not_send: PhantomData,
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // It can fail only without root rights, which it had before.
        let _ = move_into_link_name_space(self.outside.as_fd(), Some(LinkNameSpaceType::Network));
    }
}

/// Waits until an SSH server sends its banner.
fn wait_for_ssh(namespaces: &Namespaces, address: Ipv4Addr) -> anyhow::Result<()> {
    let in_network = || -> anyhow::Result<()> {
        let _entered = Entered::new(namespaces)?;
        let deadline = Instant::now() + READY_TIMEOUT;
        while Instant::now() < deadline {
            if has_ssh_banner(address) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("{address}:22 does not answer")
    };
    thread::scope(|scope| {
        let waiting = scope.spawn(in_network).join();
        waiting.unwrap_or_else(|_| bail!("the waiting thread panicked"))
    })
}

fn has_ssh_banner(address: Ipv4Addr) -> bool {
    let second = Duration::from_secs(1);
    let address = SocketAddr::from((address, 22));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, second) else {
        return false;
    };
    let mut banner = [0; 4];
    stream.set_read_timeout(Some(second)).is_ok()
        && stream.read_exact(&mut banner).is_ok()
        && banner == *b"SSH-"
}
