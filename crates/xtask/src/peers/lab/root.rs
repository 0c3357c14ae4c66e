//! The root file system of the lab's machines: a Debian server with an SSH server and a container runtime.
//!
//! It differs from a server's only where the machines of a lab share the kernel of the host.

use std::path::Path;

use anyhow::ensure;
use fs_err as fs;
use outrigger_peers::lab::{DEBIAN, DEBOOTSTRAP};

use crate::process::{command, output};

/// What a server has, and what Kubernetes expects of it. The container runtime is Debian's.
const PACKAGES: &[&str] = &[
    "systemd",
    "systemd-sysv",
    "dbus",
    "openssh-server",
    "sudo",
    "iproute2",
    "iputils-ping",
    "procps",
    "kmod",
    "ca-certificates",
    "curl",
    "iptables",
    "nftables",
    "conntrack",
    "ethtool",
    "socat",
    "containerd",
    "runc",
    "containernetworking-plugins",
];

/// Units that configure the kernel, a console or a network, which the lab does, and timers.
const MASKED_UNITS: &[&str] = &[
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "console-getty.service",
    "dev-hugepages.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "getty.target",
    "getty@tty1.service",
    "proc-sys-fs-binfmt_misc.automount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-modules-load.service",
    "systemd-networkd.service",
    "systemd-remount-fs.service",
    "systemd-sysctl.service",
    "systemd-timesyncd.service",
];

/// The kernel's log is that of the host.
const JOURNAL: &str = "[Journal]\nReadKMsg=no\nAudit=no\nStorage=volatile\n";

/// Kernel modules that Kubernetes loads, and which the kernel of the host must have.
const MODULES: &str = "kernel/fs/overlayfs/overlay.ko\nkernel/net/bridge/br_netfilter.ko\nkernel/net/netfilter/nf_conntrack.ko\n";

/// kubelet refuses version 1 of control groups by default.
const KUBELET_DEFAULTS: &str = "KUBELET_EXTRA_ARGS=--fail-cgroupv1=false\n";

/// A container may get a negative OOM score only with `CAP_SYS_RESOURCE`, which the host may not have.
const RUNC: &str = r#"#!/bin/sh
option=
for argument; do
  case $option in
    --bundle) file=$argument/config.json ;;
    --process) file=$argument ;;
    *) file= ;;
  esac
  [ -z "$file" ] || sed -i 's/"oomScoreAdj":-[0-9]*/"oomScoreAdj":0/' "$file"
  option=$argument
done
exec /usr/sbin/runc.debian "$@"
"#;

/// Fills an empty folder.
pub(super) fn make(root: &Path) -> anyhow::Result<()> {
    let user = output(command("id", root).arg("-u"))?;
    ensure!(user.trim() == "0", "it needs root rights");
    debootstrap(root)?;
    let units = root.join("etc/systemd/system");
    for unit in MASKED_UNITS {
        let link = units.join(unit);
        if fs::symlink_metadata(&link).is_ok() {
            fs::remove_file(&link)?;
        }
        fs::os::unix::fs::symlink("/dev/null", link)?;
    }
    let write = |path: &str, text: &str| -> anyhow::Result<()> {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        Ok(fs::write(path, text)?)
    };
    write("etc/systemd/journald.conf.d/lab.conf", JOURNAL)?;
    write("etc/default/kubelet", KUBELET_DEFAULTS)?;
    fs::rename(
        root.join("usr/sbin/runc"),
        root.join("usr/sbin/runc.debian"),
    )?;
    write("usr/sbin/runc", RUNC)?;
    output(command("chmod", root).args(["755", "usr/sbin/runc"]))?;
    // Each machine has its own.
    for entry in fs::read_dir(root.join("etc/ssh"))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("ssh_host_") {
            fs::remove_file(entry.path())?;
        }
    }
    fs::write(root.join("etc/machine-id"), "")?;
    let kernel = output(command("uname", root).arg("-r"))?;
    let modules = format!("lib/modules/{}", kernel.trim());
    write(&format!("{modules}/modules.order"), "")?;
    write(&format!("{modules}/modules.builtin"), MODULES)?;
    output(command("chroot", root).args([".", "depmod", kernel.trim()]))?;
    fs::remove_dir_all(root.join("var/cache/apt/archives"))?;
    Ok(())
}

/// Runs in a mount namespace, so that nothing stays mounted if it fails.
fn debootstrap(root: &Path) -> anyhow::Result<()> {
    let folder = DEBOOTSTRAP.folder()?;
    let keyring = folder.join("usr/share/keyrings/debian-archive-keyring.gpg");
    let mut debootstrap = command("unshare", root);
    debootstrap
        .args(["--mount", "sh"])
        .arg(DEBOOTSTRAP.installed()?)
        .args(["--variant=minbase", "--include", &PACKAGES.join(",")])
        .arg(format!("--keyring={}", keyring.display()))
        .args([DEBIAN, ".", &mirror(root)])
        .env("DEBOOTSTRAP_DIR", folder.join("usr/share/debootstrap"));
    output(&mut debootstrap).map(drop)
}

/// The mirror of the host's apt, if it has one of Debian.
fn mirror(root: &Path) -> String {
    let mut targets = command("apt-get", root);
    targets.args(["indextargets", "--format", "$(SITE)", "Label: Debian"]);
    let sites = output(&mut targets).unwrap_or_default();
    let site = sites.lines().find(|site| site.starts_with("http"));
    site.unwrap_or("http://deb.debian.org/debian").to_owned()
}
