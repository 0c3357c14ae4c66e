//! Which paths may be copied, and where to.

use crate::cluster::File;

/// Folders whose contents belong to the operating system.
const SYSTEM_TREES: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc/pam.d",
    "/etc/ssh",
    "/etc/sudoers.d",
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
    // What runs on the machine is recorded there.
    "/var/lib/outrigger",
];

/// Paths that must not be replaced as a whole; what is below them may be added.
const SYSTEM_PATHS: &[&str] = &[
    "/",
    "/etc",
    "/etc/fstab",
    "/etc/group",
    "/etc/gshadow",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/ld.so.preload",
    "/etc/passwd",
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
    "/usr/share",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/run",
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
    let path = format!("/{rest}");
    let is_below = |folder: &&str| path.starts_with(&format!("{folder}/")) || path == **folder;
    // Whoever writes there decides who may log in.
    let has_keys = rest.split('/').any(|part| part == ".ssh");
    let is_listed = SYSTEM_PATHS.contains(&path.as_str()) || SYSTEM_TREES.iter().any(is_below);
    let is_system = is_listed || has_keys;
    if is_system && !is_forced {
        return Err("is a system path; set force to replace it");
    }
    Ok(())
}

impl File {
    /// Whether a path on the machines is this file, or may be inside this folder.
    pub fn contains(&self, path: &str) -> bool {
        let folder = self.dst.trim_end_matches('/');
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && is_inside(&rest[1..])))
    }
}
