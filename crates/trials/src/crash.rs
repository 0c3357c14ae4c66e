//! `trials crash`: the controller is killed again and again while plugins come, change, are switched off and go.
//!
//! In the end every plugin is Ready, switched off or gone, and the cluster has exactly the objects that it should.
#![expect(clippy::print_stdout, reason = "the outcome is this program's result")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::chart;
use crate::expected::{Plan, Wanted, check};
use crate::fleet::Fleet;
use crate::process::{self, Embedded};

const PLUGINS: usize = 30;
/// So many kills, then all is looked at.
const BETWEEN_CHECKS: usize = 10;
const WITHIN: Duration = Duration::from_mins(2);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// How often to kill the controller
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// For the random times and changes; told at the end of a run
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    let begin = Instant::now();
    let scratch = tempfile::tempdir()?;
    let repository = scratch.path().join("charts");
    chart::write(&repository, "1.0.0")?;
    let server = Embedded::start(&args.binary, scratch.path()).await?;
    let log = scratch.path().join("serve.log");
    let client = process::client(&server.kubeconfig).await?;
    let serve = || process::serve(&args.binary, &server.kubeconfig, &log);
    let mut first = serve()?;
    let fleet = Fleet::new(client.clone(), &repository).await?;
    first.kill().await?;

    let mut plan = Plan::new();
    let (mut changes, mut checks) = (0, 0);
    for round in 1..=args.rounds {
        changes += change(&fleet, &mut plan).await?;
        let mut controller = serve()?;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(10..900))).await;
        controller.kill().await?;
        if round % BETWEEN_CHECKS == 0 || round == args.rounds {
            let mut controller = serve()?;
            let checked = async {
                fleet.settled(plan.len(), WITHIN).await?;
                check(&client, &plan).await
            };
            let checked = checked.await;
            let said = || fs_err::read_to_string(&log).unwrap_or_default();
            checked.with_context(|| {
                format!("round {round}, seed {seed}\n{}", process::tail(&said()))
            })?;
            controller.kill().await?;
            checks += 1;
        }
    }
    println!(
        "{} kills, {changes} changes to {PLUGINS} plugins; looked at {checks} times: all Ready, off or gone, and exactly \
         the objects that should be there; seed {seed}, {:.0} s",
        args.rounds,
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Asks for something else of about every third plugin; gives of how many.
async fn change(fleet: &Fleet, plan: &mut Plan) -> anyhow::Result<usize> {
    let mut changes = 0;
    for number in 0..PLUGINS {
        let name = format!("plugin-{number}");
        let is_there = fleet.plugins.get_opt(&name).await?;
        let is_going = is_there.is_some_and(|plugin| plugin.metadata.deletion_timestamp.is_some());
        // The first round asks for all of them.
        if is_going || (!plan.is_empty() && number > 0 && fastrand::u8(..3) > 0) {
            continue;
        }
        changes += 1;
        let wanted = match fastrand::u8(..10) {
            0 if plan.contains_key(&name) => {
                fleet.delete(vec![name.clone()]).await?;
                plan.remove(&name);
                continue;
            }
            1 => Wanted::Off,
            _ => Wanted::Installed {
                maps: fastrand::usize(1..6),
                word: fastrand::u32(..),
            },
        };
        let spec = match wanted {
            Wanted::Off => json!({"enabled": false}),
            Wanted::Installed { maps, word } => {
                json!({"enabled": true, "values": {"maps": maps, "word": word.to_string()}})
            }
        };
        let plugin = fleet.plugin(&name, spec)?;
        let params = PatchParams::apply("trial").force();
        fleet
            .plugins
            .patch(&name, &params, &Patch::Apply(&plugin))
            .await?;
        plan.insert(name, wanted);
    }
    Ok(changes)
}
