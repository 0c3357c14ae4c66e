//! `trials faults`: the API server goes away, or does not answer, in the middle of the work.
#![expect(clippy::print_stdout, reason = "the outcome is this program's result")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use kube::api::ListParams;
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tokio::process::Child;

use crate::expected::{Plan, Wanted, check};
use crate::fleet::Fleet;
use crate::process::{self, Embedded, command};
use crate::{chart, usage};

const PLUGINS: usize = 40;
/// So many are Ready when the server goes.
const READY: usize = 5;
const WITHIN: Duration = Duration::from_mins(2);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// How many seconds the server is away
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// What happens to the server.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// It is killed, and started again.
    Away,
    /// It takes connections and does not answer.
    Silent,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    for fault in [Fault::Away, Fault::Silent] {
        let scratch = tempfile::tempdir()?;
        let repository = scratch.path().join("charts");
        chart::write(&repository, "1.0.0")?;
        let mut server = Embedded::start(&args.binary, scratch.path()).await?;
        let log = scratch.path().join("serve.log");
        let client = process::client(&server.kubeconfig).await?;
        let controller = process::serve(&args.binary, &server.kubeconfig, &log)?;
        let fleet = Fleet::new(client.clone(), &repository).await?;
        let tried = Box::pin(endure(
            args,
            fault,
            &mut server,
            &controller,
            &fleet,
            &client,
        ));
        let said = || fs_err::read_to_string(&log).unwrap_or_default();
        let tried = tried.await;
        tried.with_context(|| format!("{fault:?}\n{}", process::tail(&said())))?;
    }
    Ok(())
}

async fn endure(
    args: &Args,
    fault: Fault,
    server: &mut Embedded,
    controller: &Child,
    fleet: &Fleet,
    client: &Client,
) -> anyhow::Result<()> {
    let names = (0..PLUGINS).map(|number| format!("plugin-{number}"));
    let plugins = names
        .clone()
        // Whoever counts the outage as a failure gives up.
        .map(|name| {
            fleet.plugin(
                &name,
                json!({"retries": 0, "values": {"maps": 2, "word": "7"}}),
            )
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    fleet.create(plugins).await?;
    fleet.some_settled(READY, WITHIN).await?;

    let id = controller.id().context("the controller runs")?;
    let before = usage::cpu(id)?;
    let server_id = server.child.id().context("the server runs")?;
    match fault {
        Fault::Away => server.child.kill().await?,
        Fault::Silent => signal("-STOP", server_id).await?,
    }
    tokio::time::sleep(Duration::from_secs(args.seconds)).await;
    let used = usage::cpu(id).context("the controller has ended")?;
    let used = used.saturating_sub(before);
    match fault {
        Fault::Away => server.restart(&args.binary).await?,
        Fault::Silent => signal("-CONT", server_id).await?,
    }
    let begin = Instant::now();
    fleet.settled(PLUGINS, WITHIN).await?;
    let time = begin.elapsed();
    let wanted = Wanted::Installed { maps: 2, word: 7 };
    let plan: Plan = names.map(|name| (name, wanted)).collect();
    check(client, &plan).await?;
    for plugin in fleet.plugins.list(&ListParams::default()).await? {
        let attempts = plugin.status.as_ref().map_or(0, |status| status.attempts);
        ensure!(
            attempts == 0,
            "{} counts {attempts} failures",
            plugin.name_any()
        );
    }
    println!(
        "{fault:?} for {} s in the middle of {PLUGINS} installations: all Ready {:.1} s after its return, none failed; \
         the controller used {:.2} s of processor time meanwhile",
        args.seconds,
        time.as_secs_f64(),
        used.as_secs_f64()
    );
    Ok(())
}

async fn signal(what: &str, id: u32) -> anyhow::Result<()> {
    let status = command("kill")
        .arg(what)
        .arg(id.to_string())
        .status()
        .await?;
    ensure!(status.success(), "kill {what} failed");
    Ok(())
}
