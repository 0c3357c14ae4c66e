//! The two manifests of TKEStack's documentation of hooks, with the addresses and passwords of the test's machines.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use kube::core::DynamicObject;
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use outrigger_api::compat::tkestack_cluster;
use outrigger_testing::TestContext;
use outrigger_testing::peers::KUBECTL;

use super::fixture::{PASSWORD, TIMEOUT, Up, machines, pause, write_script};

const FIRST: &str = r#"{
    "apiVersion": "platform.tkestack.io/v1",
    "kind": "Cluster",
    "spec": {
        "clusterCIDR": "10.244.0.0/16",
        "type": "Baremetal",
        "version": "1.14.10",
        "machines": [
            {
                "ip": "1.2.3.4",
                "port": 22,
                "username": "root",
                "password": "MTIzNDU2" // echo -n "123456" | base64
            }
        ],
        "features": {
            "files": [
                {
                    "src": "hooks/pre-install", // source file in tke-platform-controller
                    "dst": "/tmp/hooks/pre-install" // destinate file in node
                },
                                {
                    "src": "hooks/post-install",
                    "dst": "/tmp/hooks/post-install"
                }
            ],
            "hooks": {
                "PreInstall": "/tmp/hooks/pre-install", // reference to destinate file which defined in files
                "PostInstall": "/tmp/hooks/post-install"
            }
        }
    }
}
"#;

/// The second example.
pub(crate) const SECOND: &str = r#"{
    "apiVersion": "platform.tkestack.io/v1",
    "kind": "Cluster",
    "metadata": {
       "labels": {
          "location": "xa"
       },
       "annotations": {
          "node.alpha.kubernetes.io/test": "hello"
       }
    },
    "spec": {
        "clusterCIDR": "10.244.0.0/16",
        "tenantID": "default",
        "type": "Baremetal",
        "version": "1.18.3",
        "machines": [
            {
                "ip": "10.0.0.9",
                "port": 22,
                "username": "root",
                "password": "TGV0bWVpbjEyMywuMQ=="
            }
        ],
        "features": {
            "files": [
                {
                    "src": "hooks/pre",
                    "dst": "/tmp/hooks/pre"
                },
                {
                    "src": "hooks/post",
                    "dst": "/tmp/hooks/post"
                }
            ],
            "hooks": {
                "PreInstall": "/tmp/hooks/pre/pre-install",
                "PostInstall": "/tmp/hooks/post/post-install",
                "PreClusterInstall": "/tmp/hooks/pre/cluster-pre-install",
                "PostClusterInstall": "/tmp/hooks/post/cluster-post-install"
            }
        }
    }
}
"#;

fn manifest(text: &str, address: &str) -> String {
    let text = text
        .replace("1.2.3.4", address)
        .replace("10.0.0.9", address);
    text.replace("MTIzNDU2", PASSWORD)
        .replace("TGV0bWVpbjEyMywuMQ==", PASSWORD)
}

/// The scripts of the second example, as the documentation prints them.
fn write_hooks(folder: &Path) -> anyhow::Result<()> {
    let cluster = "echo \"the cluster labels and annotations key=value pair:$@\"";
    for (name, script) in [
        ("pre/pre-install", "echo \"pre node install\"".to_owned()),
        (
            "pre/cluster-pre-install",
            format!("{cluster}\necho \"pre cluster install\" "),
        ),
        (
            "post/cluster-post-install",
            format!("{cluster}\necho \"post cluster install\""),
        ),
        ("post/post-install", "echo \"post node install\"".to_owned()),
    ] {
        let script = format!("#!/bin/bash\n{script}\n");
        write_script(&folder.join("hooks"), name, &script)?;
    }
    Ok(())
}

/// What `cluster logs` prints for the second example, without times, names of machines and clusters.
const LOGS: &str = "==> PreClusterInstall
the cluster labels and annotations key=value pair:location=xa node.alpha.kubernetes.io/test=hello
pre cluster install
==> PreInstall
pre node install
==> PostInstall
post node install
==> PostClusterInstall
the cluster labels and annotations key=value pair:location=xa node.alpha.kubernetes.io/test=hello
post cluster install
";

/// The logs in the order in which hooks ran, which have a resolution of a second.
fn check_logs(logs: &str) -> anyhow::Result<()> {
    let sections = |text: &str| -> Vec<String> {
        let sections = text.split("==> ").skip(1);
        let mut sections: Vec<String> = sections
            .map(|section| {
                let (header, output) = section.split_once('\n').unwrap_or((section, ""));
                let name = header.split(' ').next().unwrap_or_default();
                format!("{name}\n{output}")
            })
            .collect();
        sections.sort();
        sections
    };
    ensure!(sections(logs) == sections(LOGS), "{logs}");
    ensure!(logs.matches("exit code 0").count() == 4, "{logs}");
    Ok(())
}

#[tokio::test]
async fn the_first_example_of_the_documentation_runs_as_it_stands() -> anyhow::Result<()> {
    let machines = machines(1)?;
    let machine = &machines.machines()[0];
    let context = Up::context()?;
    for name in ["pre-install", "post-install"] {
        let script = format!("echo {name} >>/tmp/order; echo \"{name}: $# arguments\"\n");
        write_script(context.directory(), &format!("hooks/{name}"), &script)?;
    }
    let text = manifest(FIRST, &machine.address.to_string());
    context.write("cluster.yaml", text)?;
    let output = context.run(["up", "--cluster", "cluster.yaml", "--once"])?;
    ensure!(output.starts_with("exit code: 0"), "{output}");
    let order = fs_err::read_to_string(machine.stand_in.path("/tmp/order"))?;
    assert_eq!(order, "pre-install\npost-install\n");
    for name in ["pre-install", "post-install"] {
        let path = machine.stand_in.path(&format!("/tmp/hooks/{name}"));
        let mode = fs_err::metadata(path)?.permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name} is executable");
        ensure!(output.contains(&format!("{name}: 0 arguments")), "{output}");
    }
    ensure!(!output.contains(PASSWORD), "{output}");
    let name = output.lines().find(|line| line.starts_with("cls-"));
    ensure!(name.is_some(), "a name is generated: {output}");
    Ok(())
}

#[tokio::test]
async fn the_second_example_of_the_documentation_runs_as_it_stands() -> anyhow::Result<()> {
    let machines = machines(1)?;
    let context = Up::context()?;
    write_hooks(context.directory())?;
    let address = machines.machines()[0].address.to_string();
    context.write("cluster.json", manifest(SECOND, &address))?;
    let up = Up::start(context, &["--cluster", "cluster.json"]).await?;
    let name = generated_name(&up).await?;
    let cluster = up.until_running(&name).await?;
    check_logs(&up.run(&["cluster", "logs", &name])?)?;
    // Hooks of the cluster are recorded there, in order, and those of machines with the machine.
    let status = cluster.status.unwrap_or_default();
    let hooks: Vec<&str> = status.hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(hooks, ["PreClusterInstall", "PostClusterInstall"]);
    let status = up.run(&["cluster", "status", &name])?;
    ensure!(status.contains("EnsurePostInstallHook"), "{status}");
    Ok(())
}

/// The name of the only cluster.
async fn generated_name(up: &Up) -> anyhow::Result<String> {
    let named = async {
        loop {
            let list = up.clusters().list(&kube::api::ListParams::default()).await;
            if let Some(cluster) = list.ok().and_then(|list| list.items.into_iter().next()) {
                return cluster.name_any();
            }
            pause().await;
        }
    };
    let name = tokio::time::timeout(TIMEOUT, named).await?;
    ensure!(name.starts_with("cls-"), "{name}");
    Ok(name)
}

#[tokio::test]
async fn kubectl_creates_the_second_example_and_sees_its_status() -> anyhow::Result<()> {
    let machines = machines(1)?;
    let context = Up::context()?;
    write_hooks(context.directory())?;
    let address = machines.machines()[0].address.to_string();
    context.write("cluster.json", manifest(SECOND, &address))?;
    let folder = context.directory().display().to_string();
    let up = Up::start(context, &["--files", &folder]).await?;
    let kubectl = TestContext::new(KUBECTL.installed()?)?;
    let resource = tkestack_cluster::resource();
    let api: Api<DynamicObject> = Api::all_with(up.client.clone(), &resource);
    let mut create = kubectl.command(["create", "-f"]);
    create.arg(up.context.directory().join("cluster.json"));
    let created = create.args(["--kubeconfig", &up.kubeconfig]).output()?;
    let text = String::from_utf8_lossy(&created.stdout).into_owned();
    let errors = String::from_utf8_lossy(&created.stderr);
    ensure!(created.status.success(), "{errors}");
    let name = text
        .split(['/', ' '])
        .nth(1)
        .context("kubectl names the object")?;
    ensure!(name.starts_with("cls-"), "{text}");
    let is_running = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["phase"] == "Running")
    };
    let waiting = await_condition(api.clone(), name, is_running);
    let object = tokio::time::timeout(TIMEOUT, waiting).await??;
    let object = object.context("the object is gone")?;
    let conditions = object.data["status"]["conditions"].to_string();
    ensure!(
        conditions.contains("EnsurePreClusterInstallHook"),
        "{conditions}"
    );
    check_logs(&up.run(&["cluster", "logs", name])?)
}
