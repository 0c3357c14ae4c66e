//! Which paths may be copied, and where to.

use crate::cluster::File;

/// Folders whose contents belong to the operating system, to the cluster, or are run as root when the machine does
/// something else.
pub(crate) const SYSTEM_TREES: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc/containerd",
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.monthly",
    "/etc/cron.weekly",
    "/etc/init.d",
    "/etc/kubernetes",
    "/etc/ld.so.conf.d",
    "/etc/pam.d",
    "/etc/profile.d",
    "/etc/security",
    "/etc/ssh",
    "/etc/sudoers.d",
    "/etc/systemd",
    "/etc/udev",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/var/lib/containerd",
    "/var/lib/etcd",
    "/var/lib/kubelet",
    // What runs on the machine is recorded there.
    "/var/lib/outrigger",
    "/var/spool/cron",
];

/// Paths that must not be replaced as a whole; what is below them may be added.
pub(crate) const SYSTEM_PATHS: &[&str] = &[
    "/",
    "/etc",
    "/etc/anacrontab",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/crontab",
    "/etc/environment",
    "/etc/fstab",
    "/etc/group",
    "/etc/gshadow",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.preload",
    "/etc/login.defs",
    "/etc/machine-id",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/profile",
    "/etc/rc.local",
    "/etc/resolv.conf",
    "/etc/shadow",
    "/etc/sudoers",
    "/home",
    "/mnt",
    "/opt",
    "/root",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/sbin",
    "/usr/local/share",
    "/usr/share",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/var/spool",
];

/// Whether a relative path stays inside its root.
pub(super) fn is_inside(path: &str) -> bool {
    let has_control = path.contains(char::is_control);
    let mut parts = path.split('/');
    !path.is_empty() && !path.starts_with('/') && !has_control && parts.all(|part| part != "..")
}

/// Checks that a destination is absolute, normal, and not a system path unless forced.
pub fn check_destination(path: &str, is_forced: bool) -> Result<(), &'static str> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err("is not an absolute path");
    };
    if path.contains(char::is_control) {
        return Err("contains control characters");
    }
    let rest = rest.trim_end_matches('/');
    let is_normal = |part: &str| !part.is_empty() && part != "." && part != "..";
    if !rest.is_empty() && !rest.split('/').all(is_normal) {
        return Err("contains \".\", \"..\" or an empty name");
    }
    if is_system_path(path) && !is_forced {
        return Err("is a system path; set force to replace it");
    }
    Ok(())
}

/// Whether a normal absolute path belongs to the operating system or to the cluster. What administrators add, they add to
/// other folders: `/opt`, `/srv`, `/usr/local`, or below `/etc`.
pub fn is_system_path(path: &str) -> bool {
    let rest = path.trim_matches('/');
    let path = format!("/{rest}");
    let is_below = |folder: &&str| path.starts_with(&format!("{folder}/")) || path == **folder;
    let mut parts = rest.split('/');
    // Whoever writes there decides who may log in.
    let has_keys = parts.clone().any(|part| part == ".ssh");
    // Such as .profile, which runs when somebody logs in.
    let in_home = match (parts.next(), parts.next(), parts.next()) {
        (Some("root"), name, _) | (Some("home"), Some(_), name) => name,
        _ => None,
    };
    let is_settings = in_home.is_some_and(|name| name.starts_with('.'));
    let is_listed = SYSTEM_PATHS.contains(&path.as_str()) || SYSTEM_TREES.iter().any(is_below);
    is_listed || has_keys || is_settings
}

impl File {
    /// Whether a path on the machines is this file, or may be inside this folder.
    pub fn contains(&self, path: &str) -> bool {
        let folder = self.dst.trim_end_matches('/');
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && is_inside(&rest[1..])))
    }
}
