//! Stand-in machines: processes with a root folder, processes, host name and boot id of their own, on one real machine.
//!
//! A stand-in uses the programs of the host, read-only, and has everything else for itself: `/etc`, `/root`, `/home`,
//! `/tmp`, `/var`. Its first process is an SSH server. When that process ends, the kernel ends all others and removes all
//! mounts; only the root folder is left. Without root rights, user namespaces must be permitted.

use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::shell::quote;

mod server;

pub use server::Server;

/// The password of all users of a stand-in, and its hash.
pub const PASSWORD: &str = "outrigger";
const HASH: &str = "$5$outrigger$rsBHDvmiwiZTP14uxXrDadEs1uFcHxrm013/sPLH6/3";

const START: &str = include_str!("stand_in.sh");
/// Folders of the host that machines share. Links are copied.
const LIBRARIES: [&str; 6] = ["usr/lib", "usr/lib32", "usr/lib64", "lib", "lib32", "lib64"];
const PROGRAMS: [&str; 6] = [
    "usr/bin",
    "usr/sbin",
    "usr/share",
    "bin",
    "sbin",
    "etc/alternatives",
];

/// A stand-in machine, running or not.
#[derive(Debug, Clone)]
pub struct StandIn {
    root: PathBuf,
    hostname: String,
}

/// Where the programs of a machine come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programs<'a> {
    Host,
    /// Only a static busybox. Libraries are those of the host.
    Busybox(&'a Path),
}

impl StandIn {
    /// Creates the root folder.
    pub fn create(root: &Path, hostname: &str, programs: Programs<'_>) -> io::Result<Self> {
        let stand_in = Self {
            root: root.to_owned(),
            hostname: hostname.to_owned(),
        };
        for folder in [
            "proc",
            "dev",
            "opt",
            "var/lib",
            "run/sshd",
            "etc/ssh",
            "usr/libexec/sudo",
            "home",
            "mnt",
        ] {
            fs_err::create_dir_all(root.join(folder))?;
        }
        for (folder, mode) in [("root", 0o700), ("home/admin", 0o700), ("tmp", 0o1777)] {
            fs_err::create_dir_all(root.join(folder))?;
            fs_err::set_permissions(root.join(folder), std::fs::Permissions::from_mode(mode))?;
        }
        match programs {
            Programs::Host => stand_in.share(LIBRARIES.iter().chain(&PROGRAMS))?,
            Programs::Busybox(busybox) => stand_in.install_busybox(busybox)?,
        }
        stand_in.write_users()?;
        stand_in.reboot()?;
        Ok(stand_in)
    }

    /// A path inside of the machine, as the host sees it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Makes a folder of the host available as `/opt/<name>`.
    pub fn share_folder(&self, name: &str, folder: &Path) -> io::Result<()> {
        let target = self.path("opt").join(name);
        fs_err::create_dir_all(&target)?;
        fs_err::write(target.join(".source"), format!("{}\n", folder.display()))
    }

    /// Gives the machine a new boot id. Its processes must have ended.
    pub fn reboot(&self) -> io::Result<()> {
        let id = fs_err::read_to_string("/proc/sys/kernel/random/uuid")?;
        fs_err::write(self.path("etc/boot_id"), id)
    }

    /// The shell command that starts the machine. It ends when the init process of the machine does.
    pub fn command(&self, init: &[&str]) -> String {
        let namespaces = if rustix::process::geteuid().is_root() {
            "--mount --pid --uts --fork --kill-child"
        } else {
            "--user --map-root-user --mount --pid --uts --fork --kill-child"
        };
        let init: Vec<String> = init.iter().map(|word| quote(word)).collect();
        format!(
            "unshare {namespaces} /bin/sh -c {} sh {} {} {}",
            quote(START),
            quote(&self.root.display().to_string()),
            quote(&self.hostname),
            init.join(" ")
        )
    }

    /// Starts the machine. The stdin, stdout and stderr of its init process are pipes. Dropping the process kills it.
    pub fn start(&self, init: &[&str]) -> io::Result<Child> {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the port that starts stand-in machines"
        )]
        let mut shell = std::process::Command::new("/bin/sh");
        shell
            .args(["-c", &format!("exec {}", self.command(init))])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Command::from(shell).kill_on_drop(true).spawn()
    }

    /// Lists the folders that are bound when the machine starts, and copies links.
    fn share<'a>(&self, folders: impl IntoIterator<Item = &'a &'a str>) -> io::Result<()> {
        let mut shared = String::new();
        for folder in folders {
            let host = Path::new("/").join(folder);
            let target = self.root.join(folder);
            fs_err::create_dir_all(target.parent().unwrap_or(&self.root))?;
            if let Ok(link) = fs_err::read_link(&host) {
                match symlink(link, &target) {
                    // The machine was created before.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    result => result?,
                }
            } else if host.is_dir() {
                fs_err::create_dir_all(&target)?;
                shared.push_str(&format!("{folder}\n"));
            }
        }
        fs_err::write(self.path("etc/outrigger-shared"), shared)?;
        for file in ["etc/ld.so.cache", "etc/ld.so.conf"] {
            let host = Path::new("/").join(file);
            if host.is_file() {
                fs_err::copy(host, self.root.join(file))?;
            }
        }
        Ok(())
    }

    /// The only programs are those of busybox. An SSH server needs the libraries.
    fn install_busybox(&self, busybox: &Path) -> io::Result<()> {
        self.share(&LIBRARIES)?;
        fs_err::create_dir_all(self.path("bin"))?;
        fs_err::copy(busybox, self.path("bin/busybox"))?;
        for name in BUSYBOX.split_whitespace() {
            symlink("busybox", self.path("bin").join(name))?;
        }
        symlink("../bin", self.path("usr/bin"))
    }

    fn write_users(&self) -> io::Result<()> {
        let etc = self.path("etc");
        let users = "root:x:0:0:root:/root:/bin/sh\nadmin:x:1000:1000::/home/admin:/bin/sh\n\
                     sshd:x:101:65534::/run/sshd:/bin/false\nnobody:x:65534:65534::/:/bin/false\n";
        fs_err::write(etc.join("passwd"), users)?;
        fs_err::write(
            etc.join("group"),
            "root:x:0:\nadmin:x:1000:\nnogroup:x:65534:\n",
        )?;
        fs_err::write(
            etc.join("nsswitch.conf"),
            "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
        )?;
        fs_err::write(etc.join("hostname"), format!("{}\n", self.hostname))?;
        // sudo looks up its host, and complains on stderr if that fails.
        let hosts = format!("127.0.0.1 localhost {}\n", self.hostname);
        fs_err::write(etc.join("hosts"), hosts)?;
        fs_err::write(
            etc.join("os-release"),
            "ID=stand-in\nPRETTY_NAME=\"Outrigger stand-in\"\n",
        )?;
        fs_err::write(etc.join("shells"), "/bin/sh\n")?;
        if !etc.join("machine-id").exists() {
            let id = fs_err::read_to_string("/proc/sys/kernel/random/uuid")?;
            fs_err::write(etc.join("machine-id"), id.replace('-', ""))?;
        }
        let shadow = format!("root:{HASH}:19000::::::\nadmin:{HASH}:19000::::::\n");
        fs_err::write(etc.join("shadow"), shadow)?;
        fs_err::set_permissions(etc.join("shadow"), std::fs::Permissions::from_mode(0o600))?;
        let home = self.path("home/admin");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(home, Some(1000), Some(1000))?;
        }
        Ok(())
    }
}

/// The programs of a small machine.
const BUSYBOX: &str = "sh ash awk basename cat chmod chown cksum cp cut date dd df dirname du echo env expr false find \
    grep head hostname id kill ln ls mkdir mkfifo mktemp mount mv printf ps readlink rm rmdir sed seq setsid \
    sha256sum sleep sort stat sync tail tar tee test timeout touch tr true umount uname wc which xargs yes [";
