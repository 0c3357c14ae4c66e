//! The example cluster on stand-in machines that `outrigger up` starts, and the commands for machines.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use kube::runtime::wait::await_condition;
use outrigger_api::hook::{Hook, HookScope};
use outrigger_api::machine::{Machine, MachinePhase};
use outrigger_node::stand_in::PASSWORD;

use super::fixture::{TIMEOUT, Up, machines, pause};

const MACHINES: usize = 3;

/// A port that no other run of the example uses.
fn free_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.77.1:0")?;
    Ok(listener.local_addr()?.port())
}

/// How often a line about a hook was printed.
fn count(log: &str, hook: &str) -> usize {
    let is_of_hook =
        |line: &&str| line.split(' ').next() == Some(hook) && line.contains("exit code 0");
    log.lines().filter(is_of_hook).count()
}

/// Adds a worker with a password from stdin.
fn add_worker(up: &Up, address: &str) -> anyhow::Result<()> {
    let args = [
        "machine",
        "add",
        "worker",
        "--cluster",
        "demo",
        "--address",
        address,
        "--password-stdin",
    ];
    let mut command = up.context.command(args);
    command
        .args(["--label", "disk=ssd"])
        .env("KUBECONFIG", &up.kubeconfig);
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = process.stdin.take().context("stdin is a pipe")?;
    writeln!(stdin, "{PASSWORD}")?;
    drop(stdin);
    let output = process.wait_with_output()?;
    ensure!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "machine worker added\n"
    );
    Ok(())
}

/// The path of the manifest.
fn example() -> anyhow::Result<String> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster.yaml");
    Ok(example.canonicalize()?.display().to_string())
}

#[tokio::test]
async fn the_example_runs_in_a_new_data_folder() -> anyhow::Result<()> {
    let (example, port) = (example()?, free_port()?.to_string());
    let context = Up::context()?;
    let data = context.directory().join("data").display().to_string();
    let args = ["--cluster", &example, "--stand-in-port", &port];
    let args = [&args[..], &["--data", &data]].concat();
    let up = Up::start(context, &args).await?;
    up.until_running("demo").await?;
    Ok(())
}

/// Kills the SSH server of a stand-in machine, which ends the machine.
fn kill_server(listen: &str) -> anyhow::Result<()> {
    let arguments = format!("\0machine\0stand-in\0--listen\0{listen}\0");
    let mut processes = fs_err::read_dir("/proc")?.flatten();
    let server = processes.find(|entry| {
        let line = fs_err::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        line.contains(&arguments)
            && line.ends_with("--folder\0/etc/outrigger\0")
            && !line.contains("/bin/sh")
    });
    let id = server.context("the machine has no server")?.file_name();
    let id = rustix::process::Pid::from_raw(id.to_string_lossy().parse()?);
    let id = id.context("the server has a process id")?;
    Ok(rustix::process::kill_process(
        id,
        rustix::process::Signal::KILL,
    )?)
}

#[tokio::test]
async fn a_stand_in_machine_whose_server_dies_is_started_again_and_that_is_reported()
-> anyhow::Result<()> {
    let (example, port) = (example()?, free_port()?.to_string());
    let args = ["--cluster", &example, "--stand-in-port", &port];
    let up = Up::start(Up::context()?, &args).await?;
    up.until_running("demo").await?;
    kill_server(&format!("127.0.77.2:{port}"))?;
    let log = up.context.directory().join("up.log");
    let is_reported = |log: &str, what: &str| {
        log.contains(&format!("the stand-in machine at 127.0.77.2:{port} {what}"))
    };
    let restarted = async {
        while !is_reported(&fs_err::read_to_string(&log)?, "is running") {
            pause().await;
        }
        anyhow::Ok(())
    };
    let restarted = tokio::time::timeout(TIMEOUT, restarted).await;
    restarted.with_context(|| fs_err::read_to_string(&log).unwrap_or_default())??;
    assert!(is_reported(&fs_err::read_to_string(&log)?, "has ended"));
    let name = format!("demo-127-0-77-2-{port}");
    let hostname = up.run(&["machine", "run", &name, "--", "hostname"])?;
    ensure!(hostname.contains("machine-127-0-77-2"), "{hostname}");
    Ok(())
}

#[tokio::test]
async fn the_example_runs_all_hooks_on_machines_of_its_own() -> anyhow::Result<()> {
    let example = example()?;
    let worker = machines(1)?;
    let port = free_port()?.to_string();
    let args = ["--cluster", &example, "--stand-in-port", &port];
    let up = Up::start(Up::context()?, &args).await?;
    up.until_running("demo").await?;
    use_machines(&up, &worker.machines()[0].address.to_string(), &port).await?;
    up.run(&["cluster", "upgrade", "demo", "1.35.0"])?;
    up.run(&["cluster", "status", "demo", "--watch"])?;
    up.run(&["cluster", "delete", "demo"])?;
    up.until_deleted("demo").await?;
    let log = up.context.directory().join("up.log");
    let is_complete = |log: &str| {
        Hook::of_clusters().all(|hook| {
            let expected = if hook.scope == HookScope::Cluster {
                1
            } else {
                MACHINES
            };
            // The worker was added and removed in between.
            let is_install = hook.name == "PreInstall" || hook.name == "PostInstall";
            count(log, hook.name) == expected + usize::from(is_install)
        })
    };
    let printed = async {
        while !is_complete(&fs_err::read_to_string(&log)?) {
            pause().await;
        }
        anyhow::Ok(())
    };
    let printed = tokio::time::timeout(TIMEOUT, printed).await;
    printed.with_context(|| fs_err::read_to_string(&log).unwrap_or_default())?
}

/// Adds a worker, uses all machines, and removes the worker.
async fn use_machines(up: &Up, worker: &str, port: &str) -> anyhow::Result<()> {
    add_worker(up, &format!("root@{worker}"))?;
    let is_running = |machine: Option<&Machine>| {
        let status = machine.and_then(|machine| machine.status.as_ref());
        status.is_some_and(|status| status.phase == MachinePhase::Running)
    };
    let waiting = await_condition(up.machines(), "worker", is_running);
    tokio::time::timeout(TIMEOUT, waiting).await??;
    let list = up.run(&["machine", "list", "--cluster", "demo", "-o", "wide"])?;
    assert_eq!(list.lines().count(), 2 + MACHINES, "{list}");
    ensure!(list.contains("Outrigger stand-in"), "{list}");
    let log = up.run(&["cluster", "logs", "demo", "--follow"])?;
    let line = format!("demo-127-0-77-2-{port} PreInstall: exit code 0");
    ensure!(log.lines().any(|it| it == line), "{log}");
    let names = up.run(&[
        "machine",
        "run",
        "--cluster",
        "demo",
        "--",
        "sh",
        "-c",
        "echo \"$0 $(hostname)\"",
        "it's",
    ])?;
    for name in [
        "it's machine-127-0-77-1",
        "it's machine-127-0-77-2",
        "it's machine-0",
    ] {
        ensure!(names.lines().any(|line| line == name), "{names}");
    }
    let failed = up.run(&["machine", "run", "worker", "--", "false"]);
    ensure!(failed.is_err_and(|error| error.to_string().contains("machine worker: exit code 1")));
    let facts = up.run(&["machine", "facts", "worker", "-o", "json"])?;
    ensure!(facts.contains("\"os\": \"Outrigger stand-in\""), "{facts}");
    let refused = up.run(&["machine", "remove", &format!("demo-127-0-77-1-{port}")]);
    ensure!(
        refused.is_err_and(|error| error.to_string().contains("spec.machines of cluster demo"))
    );
    up.run(&["machine", "remove", "worker"])?;
    let waiting = await_condition(up.machines(), "worker", |machine: Option<&Machine>| {
        machine.is_none()
    });
    tokio::time::timeout(TIMEOUT, waiting).await??;
    Ok(())
}
