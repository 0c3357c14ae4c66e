//! The command lines that do the same work.

use std::path::Path;

use outrigger_testing::machines::Machines;
use outrigger_testing::peers;
use tokio::process::Command;

use super::runner::HOOKS;
use crate::process::command;

/// Our runner.
pub(super) fn outrigger(
    machines: &Machines,
    list: &Path,
    files: &Path,
    destination: &str,
) -> anyhow::Result<Command> {
    let mut runner = command(std::env::current_exe()?);
    runner.args([
        "bench",
        "hooks-runner",
        "--destination",
        destination,
        "--machines",
    ]);
    runner.arg(list).arg("--files").arg(files);
    runner.arg("--private-key").arg(machines.private_key());
    runner.args(["--host-key", &machines.host_key().to_openssh()]);
    Ok(runner)
}

/// All machines in parallel, each with a connection that is shared by one copy and two commands.
pub(super) fn openssh(
    machines: &Machines,
    list: &Path,
    files: &Path,
    destination: &str,
) -> anyhow::Result<Command> {
    let ssh = peers::SSHD.folder()?.join("usr/bin/ssh");
    let [first, second] = HOOKS;
    // Connections of an earlier turn are not used again.
    let turn = destination.rsplit('/').next().unwrap_or_default();
    let script = format!(
        "one() {{
  s=\"{ssh} -F none -i {key} -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
-o LogLevel=ERROR -o ControlMaster=auto -o ControlPersist=20 -o ControlPath={folder}/{turn}-%h $1\"
  $s \"mkdir -p {destination} && tar -xf - -C {destination} && chmod +x {destination}/{first} {destination}/{second}\" \
<{folder}/files.tar &&
  $s \"{destination}/{first} a=b\" </dev/null >/dev/null && $s \"{destination}/{second} a=b\" </dev/null >/dev/null
}}
tar -cf {folder}/files.tar -C {files}/hooks . || exit 1
pids=
while read -r machine; do one \"${{machine%:22}}\" & pids=\"$pids $!\"; done <{list}
for pid in $pids; do wait $pid || exit 1; done",
        ssh = ssh.display(),
        key = machines.private_key().display(),
        folder = machines.directory().display(),
        files = files.display(),
        list = list.display(),
    );
    let mut shell = command("sh");
    shell.args(["-c", &script]);
    Ok(shell)
}

/// A playbook with 50 forks, pipelining and without facts, which is the fastest that Ansible can be told to be.
pub(super) fn ansible(
    machines: &Machines,
    list: &Path,
    files: &Path,
    destination: &str,
) -> anyhow::Result<Command> {
    let folder = machines.directory();
    let hosts = fs_err::read_to_string(list)?;
    let hosts: String = hosts
        .lines()
        .map(|line| line.trim_start_matches("root@").trim_end_matches(":22"))
        .map(|host| {
            format!("{host} ansible_user=root ansible_python_interpreter=/usr/bin/python3\n")
        })
        .collect();
    fs_err::write(folder.join("inventory"), hosts)?;
    let [first, second] = HOOKS;
    let playbook = format!(
        "- hosts: all
  gather_facts: no
  tasks:
  - copy: {{src: '{files}/hooks/', dest: '{destination}', mode: '0755'}}
  - command: {destination}/{first} a=b
  - command: {destination}/{second} a=b
",
        files = files.display()
    );
    fs_err::write(folder.join("playbook.yaml"), playbook)?;
    let mut playbook = command(peers::ANSIBLE.installed()?);
    let ssh_bin = peers::SSHD.folder()?.join("usr/bin");
    let path = std::env::var("PATH").unwrap_or_default();
    playbook
        .args([
            "--forks",
            "50",
            "-i",
            "inventory",
            "playbook.yaml",
            "--private-key",
        ])
        .arg(machines.private_key())
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", ssh_bin.display()))
        .env("ANSIBLE_HOST_KEY_CHECKING", "False")
        .env("ANSIBLE_PIPELINING", "True")
        .env("ANSIBLE_LOCAL_TEMP", folder.join("ansible"))
        .env("ANSIBLE_HOME", folder.join("ansible"))
        .env("ANSIBLE_SSH_CONTROL_PATH_DIR", folder.join("cp"));
    Ok(playbook)
}
