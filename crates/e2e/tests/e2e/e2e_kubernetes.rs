//! The real API server that other tests stand on: it starts, knows custom resources, applies and watches.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers;

use crate::boats;

const WITHIN: Duration = Duration::from_secs(30);

#[tokio::test]
async fn custom_resources_are_defined_applied_and_watched() -> anyhow::Result<()> {
    let kubernetes = RealKubernetes::start(Options::default()).await?;
    let client = kubernetes.client();
    let version = client.apiserver_version().await?.git_version;
    println!("kube-apiserver {version}");
    assert_eq!(version, format!("v{}", peers::KUBERNETES));

    boats::sail(client).await
}

/// Set in the process that owns a server and waits to be killed.
const OWNER: &str = "OUTRIGGER_E2E_OWNER";

#[tokio::test]
async fn a_killed_owner_leaves_no_server_and_no_folder() -> anyhow::Result<()> {
    if std::env::var_os(OWNER).is_some() {
        let options = Options {
            controller_manager: false,
            ..Options::default()
        };
        let kubernetes = RealKubernetes::start(options).await?;
        println!("folder={}", kubernetes.folder().display());
        return std::future::pending().await;
    }
    let mut owner = owner()?;
    let stdout = owner.stdout.take().context("stdout is piped")?;
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let folder = lines.find_map(|line| {
        line.split_once("folder=")
            .map(|(_, folder)| PathBuf::from(folder))
    });
    let folder = folder.context("the owner ended before its server was ready")?;
    assert!(folder.exists());

    owner.kill()?;
    owner.wait()?;
    let gone = async {
        while folder.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(WITHIN, gone).await?;
    Ok(())
}

/// This very test, in a process of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "the test needs a process that it can kill"
)]
fn owner() -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--exact",
        "--nocapture",
        "e2e_kubernetes::a_killed_owner_leaves_no_server_and_no_folder",
    ]);
    Ok(command
        .env(OWNER, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?)
}
