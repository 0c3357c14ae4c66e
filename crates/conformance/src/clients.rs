//! `conformance clients`: kubectl and both Helm majors run one script on both servers; what they print is compared.
//!
//! The embedded server simulates workloads. The real one has controllers but no nodes, so that steps which wait for
//! something to run are for the embedded server only; each says why.
#![expect(clippy::print_stdout, reason = "the outcome is this program's result")]

use std::path::{Path, PathBuf};

use anyhow::bail;
use futures::future::try_join_all;
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers;

use crate::embedded::{self, Embedded};

mod shell;
mod step;

use shell::{Outcome, Shell};
use step::Step;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// Only scripts whose name has this in it: kubectl, helm3, helm4
    #[arg(long, default_value = "")]
    script: String,
    /// Prints what each step printed
    #[arg(long)]
    show: bool,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let names = ["kubectl", "helm3", "helm4"];
    let names = names.into_iter().filter(|name| name.contains(&args.script));
    // Each has servers of its own, so all go at once.
    let failed = try_join_all(names.map(|name| on_both(args, name))).await?;
    let failed: usize = failed.into_iter().sum();
    if failed > 0 {
        bail!("{failed} steps differ");
    }
    Ok(())
}

/// Runs one script on two new servers; gives how many steps differ.
async fn on_both(args: &Args, name: &str) -> anyhow::Result<usize> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    let scratch = tempfile::tempdir()?;
    let steps = step::load(&folder, name)?;
    let real = RealKubernetes::start(Options::default()).await?;
    let ours = Embedded::start(&embedded::Options {
        binary: args.binary.clone(),
        data: scratch.path().join(name),
        simulate_workloads: true,
    })
    .await?;
    let shells = [
        Shell::new(&folder, name, real.kubeconfig(), false)?,
        Shell::new(&folder, name, &ours.endpoint.kubeconfig, true)?,
    ];
    script(args, name, &steps, &shells).await
}

/// Runs the steps of a script; gives how many steps differ.
async fn script(
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
                println!("{name}: {}\n  fails: {}", step.run, outcome.text);
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
        "{name}: {} of {} steps equal or, {embedded_only} of them on the embedded server only, successful",
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

/// The peers that a script calls by name.
fn programs(script: &str) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let mut programs = vec![("kubectl", peers::KUBECTL.installed()?)];
    match script {
        "helm3" => programs.push(("helm", peers::HELM3.installed()?)),
        "helm4" => programs.push(("helm", peers::HELM4.installed()?)),
        _ => {}
    }
    Ok(programs)
}
