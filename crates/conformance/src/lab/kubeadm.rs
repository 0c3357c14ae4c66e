//! The contender: a shell script with plain kubeadm and OpenSSH.

use std::path::Path;

use outrigger_testing::lab::{Lab, LabMachine};
use outrigger_testing::peers;
use outrigger_testing::peers::lab::Release;
use tokio::process::Command;

use super::machines::Machines;
use crate::process::command;

/// The script, which ends when all nodes are ready. `files` is the folder of the release in a provider folder.
pub(super) fn script(
    lab: &Lab,
    machines: &Machines,
    files: &Path,
    release: Release,
) -> anyhow::Result<Command> {
    let addresses = |machines: &[LabMachine]| {
        let addresses = machines.iter().map(|machine| machine.address().to_string());
        addresses.collect::<Vec<_>>().join(" ")
    };
    let mut shell = command("sh");
    shell
        .args(["-c", include_str!("kubeadm.sh")])
        .env("BIN", peers::SSHD.folder()?.join("usr/bin"))
        .env("KEY", lab.private_key())
        .env("FILES", files)
        .env("VERSION", release.kubernetes)
        .env("CONTROL_PLANES", addresses(machines.control_plane()))
        .env("WORKERS", addresses(machines.workers()));
    Ok(shell)
}
