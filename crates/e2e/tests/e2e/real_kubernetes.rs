//! The real API server that other tests use: it serves custom resources, and stops with its test.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers;

use crate::custom_resources;

const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn serves_custom_resources() -> anyhow::Result<()> {
    let kubernetes = RealKubernetes::start(Options::default()).await?;
    let client = kubernetes.client();
    let version = client.apiserver_version().await?.git_version;
    println!("kube-apiserver {version}");
    assert_eq!(version, format!("v{}", peers::KUBERNETES));

    custom_resources::check(client).await
}

/// Set in the child process, which starts a server and waits to be killed.
const CHILD: &str = "OUTRIGGER_E2E_CHILD";

#[tokio::test]
async fn servers_stop_when_the_test_process_is_killed() -> anyhow::Result<()> {
    if std::env::var_os(CHILD).is_some() {
        let options = Options {
            controller_manager: false,
            ..Options::default()
        };
        let kubernetes = RealKubernetes::start(options).await?;
        println!("directory={}", kubernetes.directory().display());
        return std::future::pending().await;
    }
    let mut child = start_child()?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let directory = lines.find_map(|line| {
        line.split_once("directory=")
            .map(|(_, directory)| PathBuf::from(directory))
    });
    let directory = directory.context("the child exited before its server was ready")?;
    assert!(directory.exists());

    child.kill()?;
    child.wait()?;
    let removed = async {
        while directory.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, removed).await?;
    Ok(())
}

/// Runs this test in a child process.
#[expect(
    clippy::disallowed_methods,
    reason = "the test needs a process that it can kill"
)]
fn start_child() -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--exact",
        "--nocapture",
        "real_kubernetes::servers_stop_when_the_test_process_is_killed",
    ]);
    Ok(command
        .env(CHILD, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?)
}
