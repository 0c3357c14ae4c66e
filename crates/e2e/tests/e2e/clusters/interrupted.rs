//! Flows that are disturbed from outside: by a second controller, and by Secrets that are deleted.

use std::process::{Child, Stdio};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use outrigger_api::machine::Machine;
use outrigger_testing::machines::Machines;
use serde_json::{Value, json};

use super::fixture::{PASSWORD, TIMEOUT, Up, addresses, cluster, machines, pause, write_script};
use super::unlucky::until_reported;

/// Notes each execution, and waits for a file where one is wanted.
const SCRIPT: &str = "#!/bin/sh
echo \"$OUTRIGGER_HOOK\" >>/markers
[ \"$OUTRIGGER_HOOK\" != PreInstall ] || while [ ! -e /go ]; do sleep 0.1; done
";

const HOOKS: [&str; 4] = [
    "PreClusterInstall",
    "PreInstall",
    "PostInstall",
    "PostClusterInstall",
];

fn markers(machines: &Machines, index: usize) -> Vec<String> {
    let path = machines.machines()[index].stand_in.path("/markers");
    let text = fs_err::read_to_string(path).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn let_go(machines: &Machines) -> anyhow::Result<()> {
    for machine in machines.machines() {
        fs_err::write(machine.stand_in.path("/go"), "")?;
    }
    Ok(())
}

async fn until_begun(machines: &Machines, index: usize, hook: &str) -> anyhow::Result<()> {
    let begun = async {
        while !markers(machines, index).iter().any(|it| it == hook) {
            pause().await;
        }
    };
    let begun = tokio::time::timeout(TIMEOUT, begun).await;
    begun.with_context(|| format!("{hook} has not begun"))
}

async fn start() -> anyhow::Result<Up> {
    let context = Up::context()?;
    write_script(context.directory(), "hook", SCRIPT)?;
    let folder = context.directory().display().to_string();
    Up::start(context, &["--files", &folder]).await
}

/// A second controller. Dropping it kills it.
struct Controller(Child);

impl Controller {
    fn start(up: &Up) -> anyhow::Result<Self> {
        let folder = up.context.directory().display().to_string();
        let args = ["serve", "--no-leader-election", "--files", &folder];
        let mut command = up.context.command(args);
        let log = fs_err::File::create(up.context.directory().join("serve.log"))?;
        command
            .env("KUBECONFIG", &up.kubeconfig)
            .stdout(Stdio::null())
            .stderr(log.into_parts().0);
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn two_controllers_at_once_run_each_hook_once() -> anyhow::Result<()> {
    let machines = machines(2)?;
    let up = start().await?;
    let mut second = Controller::start(&up)?;
    up.create(cluster("a", &addresses(&machines), &HOOKS))
        .await?;
    until_begun(&machines, 0, "PreInstall").await?;
    until_begun(&machines, 1, "PreInstall").await?;
    let_go(&machines)?;
    up.until_running("a").await?;
    ensure!(second.0.try_wait()?.is_none(), "the second one has ended");
    assert_eq!(markers(&machines, 0), HOOKS);
    assert_eq!(markers(&machines, 1), ["PreInstall", "PostInstall"]);
    Ok(())
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ssh"},
        "data": {"password": PASSWORD},
    })
}

#[tokio::test]
async fn a_secret_that_is_deleted_during_a_flow_is_named_and_the_flow_goes_on_later()
-> anyhow::Result<()> {
    let machines = machines(1)?;
    let up = start().await?;
    let secrets: Api<Secret> = Api::namespaced(up.client.clone(), "default");
    let created: Secret = serde_json::from_value(secret())?;
    secrets.create(&PostParams::default(), &created).await?;
    let mut object = cluster("a", &addresses(&machines), &HOOKS);
    let reference = json!({"name": "ssh", "namespace": "default"});
    object["spec"]["machines"][0] = json!({"ip": addresses(&machines)[0], "secretRef": reference});
    up.create(object).await?;
    until_begun(&machines, 0, "PreInstall").await?;
    secrets.delete("ssh", &DeleteParams::default()).await?;
    let_go(&machines)?;
    // The hook that runs is not disturbed; the next step needs the Secret.
    let expected = "Secret default/ssh does not exist";
    until_reported(&up, "a", "EnsurePreflight", expected).await?;
    secrets.create(&PostParams::default(), &created).await?;
    up.run(&["cluster", "retry", "a"])?;
    up.until_running("a").await?;
    assert_eq!(markers(&machines, 0), HOOKS);
    let list = up.machines().list(&ListParams::default()).await?;
    for machine in &list.items {
        ensure!(!has_password(machine)?, "{machine:#?}");
    }
    Ok(())
}

/// Whether the password of stand-in machines is in an object, in any form in which it may be written.
fn has_password(machine: &Machine) -> anyhow::Result<bool> {
    Ok(serde_json::to_string(machine)?.contains(PASSWORD))
}
