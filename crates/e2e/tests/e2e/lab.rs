//! The lab: its machines are Debian servers to the SSH client of the product, and end with the harness. The tests are skipped
//! where the lab is not installed: `cargo xtask peers lab`.

mod backup;
mod baremetal;
mod certificates;
mod control_planes;
mod fixture;
mod killed_harness;
mod kubernetes;
mod unlucky;
mod upgrade;

use std::time::Duration;

use outrigger_node::{Command, ConnectError, Connector, Entry, Machine, RunError, Tree};
use outrigger_testing::lab::{Lab, LabMachine, Options};
use outrigger_testing::peers::lab::{CURRENT, Release};
use tokio::sync::{Mutex, MutexGuard};

/// Each machine takes a part of the inotify instances that the host allows, so that labs run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// A lab, or nothing if this host has none.
async fn lab() -> Option<(MutexGuard<'static, ()>, Lab)> {
    lab_with(CURRENT).await
}

/// The same with the programs and images of a release.
async fn lab_with(release: Release) -> Option<(MutexGuard<'static, ()>, Lab)> {
    is_available(release).then_some(())?;
    let turn = ONE_AT_A_TIME.lock().await;
    Some((turn, Lab::new().unwrap()))
}

#[expect(clippy::print_stderr, reason = "tests report why they are skipped")]
fn is_available(release: Release) -> bool {
    let available = Lab::check(release);
    if let Err(reason) = &available {
        eprintln!("skipped: {reason:#}");
    }
    available.is_ok()
}

/// The stdout of a command that succeeds.
async fn stdout(machine: &Machine, text: &str) -> anyhow::Result<String> {
    let command = Command::shell(text).timeout(Duration::from_mins(5));
    let output = machine.run(&command).await?;
    let stdout = output.stdout.text();
    let stderr = output.stderr.text();
    anyhow::ensure!(output.status.is_success(), "{text}: {stdout}{stderr}");
    Ok(stdout.trim_end().to_owned())
}

async fn connect(machine: &LabMachine) -> anyhow::Result<Machine> {
    Ok(Machine::connect(machine.target()?, &Connector::default()).await?)
}

#[tokio::test]
async fn machines_are_debian_servers_of_their_own() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1", "worker-1"], Options::default())?;
    let mut all_facts = Vec::new();
    for machine in &machines {
        let ssh = connect(machine).await?;
        let state = stdout(&ssh, "systemctl is-system-running --wait").await?;
        assert_eq!(state, "running");
        let facts = ssh.facts().await?;
        assert_eq!(facts.hostname, machine.name());
        assert_eq!((&*facts.os, &*facts.os_version), ("debian", "12"));
        assert!(facts.has_systemd && facts.is_root);
        assert_eq!(facts.container_runtimes, ["containerd"]);
        assert!(facts.free_bytes["/var/lib"] > 7 << 30, "{facts:?}");
        let process = stdout(&ssh, "cat /proc/1/comm; id -un").await?;
        assert_eq!(process, "systemd\nroot");
        all_facts.push(facts);
    }
    let [first, second] = [&all_facts[0], &all_facts[1]];
    assert!(first.machine_id.is_some() && first.machine_id != second.machine_id);
    assert!(first.boot_id.is_some() && first.boot_id != second.boot_id);
    assert_ne!(
        machines[0].host_key()?.fingerprint(),
        machines[1].host_key()?.fingerprint()
    );
    let ping = format!("ping -q -c 1 -W 60 {} >/dev/null", machines[1].address());
    stdout(&connect(&machines[0]).await?, &ping).await?;
    Ok(())
}

#[tokio::test]
async fn containers_run_on_machines() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machine = connect(&lab.machine("cp1")?).await?;
    let entry = Entry {
        source: "app.tar".into(),
        destination: "/root/app.tar".to_owned(),
    };
    let tree = Tree::scan(&CURRENT.images()?, &[entry], &[].into())?;
    machine.copy(&tree).await?;
    stdout(&machine, "systemctl is-system-running --wait").await?;
    stdout(&machine, "ctr images import /root/app.tar").await?;
    let images = stdout(&machine, "ctr images list -q").await?;
    assert_eq!(images, "example.test/app:1");
    // As a pod of Kubernetes with guaranteed resources has it.
    let run = "ctr run --rm --memory-limit 67108864 example.test/app:1 test /app version";
    assert_eq!(stdout(&machine, run).await?, "app 1");
    let shell = "ctr run --rm example.test/app:1 test2 /bin/sh -c 'echo $((40 + 2)); exit 3'";
    let output = machine.run(&Command::shell(shell)).await?;
    assert_eq!(output.stdout.text(), "42\n", "{}", output.stderr.text());
    assert!(!output.status.is_success());
    Ok(())
}

#[tokio::test]
async fn a_power_cycle_changes_the_boot_id_and_keeps_the_disk() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machine = lab.machine("cp1")?;
    let ssh = connect(&machine).await?;
    let before = ssh.facts().await?;
    stdout(
        &ssh,
        "echo kept >/root/file; echo kept >/var/lib/containerd/file; echo lost >/run/file",
    )
    .await?;
    machine.power_off()?;
    let error = ssh.run(&Command::shell("true")).await.unwrap_err();
    assert!(error.is_connection_loss(), "{error}");
    machine.power_on()?;
    let after = ssh.facts().await?;
    assert_ne!(after.boot_id, before.boot_id);
    assert_eq!(after.machine_id, before.machine_id);
    let files = stdout(
        &ssh,
        "cat /root/file /var/lib/containerd/file; test ! -e /run/file",
    )
    .await?;
    assert_eq!(files, "kept\nkept");
    let containerd =
        "systemctl is-system-running --wait >/dev/null; systemctl is-active containerd";
    assert_eq!(stdout(&ssh, containerd).await?, "active");
    Ok(())
}

#[tokio::test]
async fn a_machine_without_cable_is_unreachable_until_it_is_plugged_in() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machine = lab.machine("cp1")?;
    let ssh = connect(&machine).await?;
    stdout(&ssh, "true").await?;
    machine.unplug()?;
    let target = machine.target()?;
    let error = Machine::connect(target.clone(), &Connector::default()).await;
    assert!(
        matches!(
            error,
            Err(RunError::Connect(ConnectError::Unreachable { .. }))
        ),
        "{error:?}"
    );
    machine.plug_in()?;
    // The connection that was open continues.
    assert_eq!(stdout(&ssh, "cat /proc/1/comm").await?, "systemd");
    Machine::connect(target, &Connector::default()).await?;
    Ok(())
}

#[tokio::test]
async fn a_full_disk_refuses_writes_until_it_is_freed() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machine = lab.machine("cp1")?;
    let ssh = connect(&machine).await?;
    let write = "head -c 1000000 /dev/zero >/var/lib/file";
    stdout(&ssh, write).await?;
    machine.fill_disk()?;
    let output = ssh.run(&Command::shell(format!("{write}2"))).await?;
    let stderr = output.stderr.text();
    assert!(stderr.contains("No space left on device"), "{stderr}");
    assert!(ssh.facts().await?.free_bytes["/var/lib"] < 1_000_000);
    machine.free_disk()?;
    stdout(&ssh, &format!("{write}2")).await?;
    Ok(())
}
