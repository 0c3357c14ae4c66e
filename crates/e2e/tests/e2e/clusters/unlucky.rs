//! Machines and hooks that misbehave: each is a clear error on its own machine and step, and all others go on.

use anyhow::{Context as _, ensure};
use kube::ResourceExt as _;
use kube::runtime::wait::await_condition;
use outrigger_api::machine::Machine;
use outrigger_testing::machines::{Machines, Options, Server};
use serde_json::{Value, json};

use super::fixture::{PASSWORD, TIMEOUT, Up, addresses, machines, pause, write_script};

/// A cluster of one machine whose only hook is a script.
fn cluster(name: &str, access: &Value, script: &str, features: &Value) -> Value {
    let path = format!("/data/{script}");
    let mut object = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {
            "version": "1.0.0", "machines": [access],
            "features": {"files": [{"src": script, "dst": path}], "hooks": {"PreInstall": path}},
        },
    });
    if let (Some(all), Some(more)) = (
        object["spec"]["features"].as_object_mut(),
        features.as_object(),
    ) {
        all.extend(more.clone());
    }
    object
}

fn access(ip: &str) -> Value {
    json!({"ip": ip, "password": PASSWORD})
}

/// Starts `up` with scripts, and creates clusters.
async fn start(scripts: &[(&str, &str)], clusters: Vec<Value>) -> anyhow::Result<Up> {
    let context = Up::context()?;
    for (name, script) in scripts {
        write_script(context.directory(), name, script)?;
    }
    let folder = context.directory().display().to_string();
    let up = Up::start(context, &["--files", &folder]).await?;
    for cluster in clusters {
        up.create(cluster).await?;
    }
    Ok(up)
}

/// Waits until the only machine of a cluster has a condition with this text.
pub(super) async fn until_reported(
    up: &Up,
    cluster: &str,
    step: &str,
    text: &str,
) -> anyhow::Result<Machine> {
    let machines = async {
        loop {
            let list = up
                .machines()
                .list(&kube::api::ListParams::default())
                .await?;
            let found = list.items.into_iter().find(|it| it.spec.cluster == cluster);
            if let Some(machine) = found {
                return anyhow::Ok(machine.name_any());
            }
            pause().await;
        }
    };
    let name = tokio::time::timeout(TIMEOUT, machines).await??;
    let is_reported = |machine: Option<&Machine>| {
        let status = machine.and_then(|machine| machine.status.as_ref());
        let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
        conditions.any(|it| it.kind == step && it.message.contains(text))
    };
    let waiting = await_condition(up.machines(), &name, is_reported);
    match tokio::time::timeout(TIMEOUT, waiting).await {
        Ok(found) => found?.context("the machine is gone"),
        Err(_) => anyhow::bail!("{cluster}: {:#?}", up.machines().get(&name).await?.status),
    }
}

fn with_mounts(mounts: &str) -> anyhow::Result<Machines> {
    Machines::start(Options {
        mounts: mounts.to_owned(),
        ..Options::new(Server::OpenSsh)
    })
}

#[tokio::test]
async fn machines_that_cannot_be_used_are_reported_and_others_go_on() -> anyhow::Result<()> {
    let usual = machines(5)?;
    let full = with_mounts(
        "mkdir -p data; mount -t tmpfs -o size=8k tmpfs data; head -c 8192 /dev/zero >data/x || :",
    )?;
    let read_only = with_mounts("mkdir -p data; mount -t tmpfs -o ro tmpfs data")?;
    let banner = Machines::start(Options {
        configuration: "Banner /etc/banner".to_owned(),
        mounts: "head -c 1000000 /dev/zero | tr '\\0' a >etc/banner".to_owned(),
        ..Options::new(Server::OpenSsh)
    })?;
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let ip = addresses(&usual);
    usual.power_off(3)?;
    let mut other_key = access(&ip[2]);
    other_key["hostKey"] = json!(read_only.host_key().to_openssh());
    let user = json!({"ip": ip[4], "username": "admin", "password": PASSWORD});
    let silent_access =
        json!({"ip": "127.0.0.1", "port": silent.local_addr()?.port(), "password": PASSWORD});
    let cases = [
        (
            "password",
            json!({"ip": ip[1], "password": "d3Jvbmc="}),
            "rejected the authentication by password",
        ),
        ("key", other_key, "the host key of"),
        ("unreachable", access(&ip[3]), "failed to connect to"),
        ("sudo", user, "has no sudo"),
        ("full", access(&addresses(&full)[0]), "No space left"),
        (
            "read-only",
            access(&addresses(&read_only)[0]),
            "Read-only file system",
        ),
        (
            "banner",
            access(&addresses(&banner)[0]),
            "does not speak SSH as expected",
        ),
        (
            "silent",
            silent_access,
            "did not complete the SSH handshake",
        ),
    ];
    let clusters = cases
        .iter()
        .map(|(name, access, _)| cluster(name, access, "hook", &json!({})));
    let good = cluster("good", &access(&ip[0]), "hook", &json!({}));
    let up = start(
        &[("hook", "#!/bin/sh\necho works\n")],
        clusters.chain([good]).collect(),
    )
    .await?;
    up.until_running("good").await?;
    for (name, _, text) in &cases {
        let machine = until_reported(&up, name, "EnsureCopyFiles", text).await?;
        let status = machine.status.unwrap_or_default();
        ensure!(status.hooks.is_empty(), "{name}: no hook ran");
        ensure!(!status.message.contains("wrong"), "{}", status.message);
    }
    // The one that was off comes back, and its cluster is finished without help.
    let mut usual = usual;
    usual.power_on(3)?;
    up.run(&["cluster", "retry", "unreachable"])?;
    up.until_running("unreachable").await?;
    Ok(())
}

#[tokio::test]
async fn hooks_that_misbehave_are_bounded_and_reported() -> anyhow::Result<()> {
    let machines = machines(6)?;
    let ip = addresses(&machines);
    let scripts = [
        ("endless", "#!/bin/sh\nwhile :; do sleep 1; done\n"),
        ("output", "#!/bin/sh\nyes\n"),
        ("binary", "#!/bin/sh\nprintf 'a\\000\\377b'\n"),
        ("daemon", "#!/bin/sh\nsleep 1000 & echo started\n"),
        ("plain", "echo without a shebang\n"),
        (
            "reboot",
            "#!/bin/sh\n[ -e /rebooted ] && exit 0\ntouch /rebooted; sleep 1000\n",
        ),
        ("windows", "#!/bin/sh\r\necho\r\n"),
    ];
    let limits = json!({"hookTimeout": "2s", "hookAttempts": 1});
    let clusters = vec![
        cluster("endless", &access(&ip[0]), "endless", &limits),
        cluster("output", &access(&ip[1]), "output", &limits),
        cluster("binary", &access(&ip[2]), "binary", &json!({})),
        cluster("daemon", &access(&ip[3]), "daemon", &json!({})),
        cluster("plain", &access(&ip[4]), "plain", &json!({})),
        cluster("reboot", &access(&ip[5]), "reboot", &json!({})),
        cluster("windows", &access("127.0.0.1"), "windows", &json!({})),
    ];
    let up = start(&scripts, clusters).await?;
    let step = "EnsurePreInstallHook";
    until_reported(&up, "endless", step, "PreInstall did not end within 2s").await?;
    let machine = until_reported(&up, "output", step, "PreInstall did not end within 2s").await?;
    let hooks = machine.status.unwrap_or_default().hooks;
    for index in 0..2 {
        let left = fs_err::read_dir(machines.machines()[index].stand_in.path("/tmp"))?;
        ensure!(left.count() == 0, "the context of a hook is left");
    }
    let output = hooks.first().context("the hook is recorded")?;
    ensure!(
        output.truncated && output.output.len() <= 4096,
        "{}",
        output.output.len()
    );
    for (name, text) in [
        // Control characters are not printed.
        ("binary", "a\u{fffd}b"),
        ("daemon", "started\n"),
        ("plain", "without a shebang\n"),
    ] {
        up.until_running(name).await?;
        let logs = up.run(&["cluster", "logs", name])?;
        ensure!(logs.contains(text), "{name}: {logs:?}");
    }
    let mut machines = machines;
    let marker = machines.machines()[5].stand_in.path("/rebooted");
    let begun = async {
        while !marker.exists() {
            pause().await;
        }
    };
    tokio::time::timeout(TIMEOUT, begun).await?;
    machines.power_off(5)?;
    machines.power_on(5)?;
    up.until_running("reboot").await?;
    let refused = up
        .until("windows", |cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.message.contains("windows")
        })
        .await?;
    let message = refused.status.unwrap_or_default().message;
    ensure!(message.contains("line endings"), "{message}");
    Ok(())
}

#[test]
fn a_source_without_read_rights_is_named() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let context = Up::context()?;
    write_script(context.directory(), "secret", "#!/bin/sh\n")?;
    let path = context.directory().join("secret");
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o000))?;
    let object = cluster("a", &access("10.0.0.1"), "secret", &json!({}));
    context.write("cluster.json", object.to_string())?;
    // In a user namespace of its own, root is a user like others.
    let unshare = outrigger_testing::TestContext::new("/usr/bin/unshare")?;
    let mut command = unshare.command(["--user"]);
    command.arg(crate::deploy::binary()?);
    command.args(["cluster", "plan", "-f", "cluster.json"]);
    let output = command.current_dir(context.directory()).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && text.contains("/secret"),
        "{text}"
    );
    ensure!(text.contains("Permission denied"), "{text}");
    Ok(())
}
