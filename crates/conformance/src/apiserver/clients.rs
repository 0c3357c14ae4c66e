//! `conformance clients`: runs scripts of kubectl and both Helm majors on both API servers and compares the output.
//!
//! The embedded server simulates workloads. The real one has controllers but no nodes, so steps that wait for pods run on
//! the embedded server only; each states its reason.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::path::{Path, PathBuf};

use anyhow::bail;
use futures::future::try_join_all;
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers;

use crate::process::{self, EmbeddedServer};

mod shell;
mod step;

use shell::{Outcome, Shell};
use step::Step;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only scripts whose name contains this text: kubectl, helm3, helm4
    #[arg(long, default_value = "")]
    script: String,
    /// Print the output of each step on the real server
    #[arg(long)]
    show: bool,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let names = ["kubectl", "helm3", "helm4"];
    let names = names.into_iter().filter(|name| name.contains(&args.script));
    // Each script has its own servers, so they run concurrently.
    let failed = try_join_all(names.map(|name| run_script(binary, args, name))).await?;
    let failed: usize = failed.into_iter().sum();
    if failed > 0 {
        bail!("{failed} steps differ");
    }
    Ok(())
}

/// Runs one script on two new servers and returns the number of steps that differ.
async fn run_script(binary: &Path, args: &Args, name: &str) -> anyhow::Result<usize> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    let scratch = tempfile::tempdir()?;
    let steps = step::load(&directory, name)?;
    let real = RealKubernetes::start(Options::default()).await?;
    let ours = EmbeddedServer::start(&process::Options {
        binary: binary.to_owned(),
        data: scratch.path().join(name),
        simulate_workloads: true,
    })
    .await?;
    let shells = [
        Shell::new(&directory, name, real.kubeconfig(), false)?,
        Shell::new(&directory, name, &ours.endpoint.kubeconfig, true)?,
    ];
    run_steps(args, name, &steps, &shells).await
}

async fn run_steps(
    args: &Args,
    name: &str,
    steps: &[Step],
    shells: &[Shell; 2],
) -> anyhow::Result<usize> {
    let [real, ours] = shells;
    let mut failed = 0;
    let mut embedded_only = 0;
    for step in steps {
        if step.only.is_some() {
            embedded_only += 1;
            let outcome = ours.run(step).await?;
            if outcome.code != 0 {
                failed += 1;
                println!("{name}: {}\n  failed: {}", step.run, outcome.text);
            }
            continue;
        }
        let (theirs, outcome) = tokio::try_join!(real.run(step), ours.run(step))?;
        if args.show {
            println!("{name}: {}\n{}", step.run, theirs.text);
        }
        if theirs != outcome {
            failed += 1;
            print_difference(name, step, &theirs, &outcome);
        }
    }
    println!(
        "{name}: {} of {} steps passed, {embedded_only} of them on the embedded server only",
        steps.len() - failed,
        steps.len()
    );
    Ok(failed)
}

fn print_difference(name: &str, step: &Step, real: &Outcome, ours: &Outcome) {
    println!("{name}: {}", step.run);
    println!("  exit codes: real {}, ours {}", real.code, ours.code);
    let (real, ours): (Vec<_>, Vec<_>) = (real.text.lines().collect(), ours.text.lines().collect());
    for line in real.iter().filter(|line| !ours.contains(line)).take(8) {
        println!("  real: {line}");
    }
    for line in ours.iter().filter(|line| !real.contains(line)).take(8) {
        println!("  ours: {line}");
    }
}

/// The programs that a script may run, by name.
fn programs(script: &str) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let mut programs = vec![("kubectl", peers::KUBECTL.installed()?)];
    match script {
        "helm3" => programs.push(("helm", peers::HELM3.installed()?)),
        "helm4" => programs.push(("helm", peers::HELM4.installed()?)),
        _ => {}
    }
    Ok(programs)
}
