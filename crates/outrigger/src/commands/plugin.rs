//! `outrigger plugin`: manages the plugins of a cluster.
//!
//! The verbs only write Plugin objects and read their status. The controller, wherever it runs, does the work.

use std::process::ExitCode;

use anyhow::Context as _;

use self::change::Outcome;
use self::wait_condition::WaitCondition;
use crate::printer::Printer;

mod change;
pub(crate) mod connect;
mod dependents;
mod diff;
mod disable;
pub(crate) mod edit;
mod enable;
pub(crate) mod file;
mod history;
mod install;
mod list;
pub(crate) mod origin;
pub(crate) mod progress;
mod read_args;
mod reconcile;
mod release;
mod removal;
pub(crate) mod repo_path;
mod rollback;
mod set;
mod show;
mod spec_flags;
mod suspend;
mod uninstall;
pub(crate) mod unreachable;
mod upgrade;
mod values;
mod wait;
pub(crate) mod wait_condition;

#[cfg(test)]
mod tests;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin list
  outrigger plugin install web --repo https://charts.example.com --version ^1.2 --wait
  outrigger plugin set web --set replicas=3 --wait
  outrigger plugin disable web";

/// Install, configure and remove the plugins of a cluster
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// List plugins and their phases
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show details of a plugin
    #[command(after_help = show::EXAMPLES, visible_alias = "describe", aliases = ["get", "status"])]
    Show(read_args::ReadArgs),
    /// Install plugins, from flags or from files
    Install(Box<install::Args>),
    /// Enable plugins
    Enable(enable::Args),
    /// Disable a plugin: remove its release, keep the Plugin object
    #[command(after_help = disable::EXAMPLES)]
    Disable(removal::RemovalArgs),
    /// Change the values of a plugin
    Set(Box<set::Args>),
    /// Change the version of a plugin
    Upgrade(Box<upgrade::Args>),
    /// Show what a change would do to the cluster
    Diff(Box<diff::Args>),
    /// List the revisions of a plugin
    #[command(after_help = history::EXAMPLES)]
    History(read_args::ReadArgs),
    /// Roll back to the version and values of an earlier revision
    Rollback(rollback::Args),
    /// Remove a plugin and its release
    #[command(after_help = uninstall::EXAMPLES, visible_alias = "delete", aliases = ["remove", "rm"])]
    Uninstall(removal::RemovalArgs),
    /// Stop reconciling plugins: changes and drift are not acted upon
    #[command(after_help = suspend::SUSPEND_EXAMPLES)]
    Suspend(suspend::Args),
    /// Reconcile suspended plugins again
    #[command(after_help = suspend::RESUME_EXAMPLES)]
    Resume(suspend::Args),
    /// Reconcile plugins now: fetch the chart again, and retry what failed
    Reconcile(reconcile::Args),
    /// Wait until plugins are ready, disabled or deleted
    Wait(wait::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()
        .context("failed to start the tokio runtime")?;
    runtime.block_on(Box::pin(run_verb(verb, printer)))?;
    Ok(ExitCode::SUCCESS)
}

async fn run_verb(verb: &Verb, printer: &Printer) -> anyhow::Result<()> {
    match verb {
        Verb::List(args) => list::run(args, printer).await,
        Verb::Show(args) => show::run(args, printer).await,
        Verb::Install(args) => install::run(args, printer).await,
        Verb::Enable(args) => enable::run(args, printer).await,
        Verb::Disable(args) => {
            let outcome =
                Outcome::new("disabled", WaitCondition::Disabled).requested("is being disabled");
            args.run("disabled", disable::disable, outcome, printer)
                .await
        }
        Verb::Set(args) => set::run(args, printer).await,
        Verb::Upgrade(args) => upgrade::run(args, printer).await,
        Verb::Diff(args) => Box::pin(diff::run(args, printer)).await,
        Verb::History(args) => history::run(args, printer).await,
        Verb::Rollback(args) => rollback::run(args, printer).await,
        Verb::Uninstall(args) => {
            let outcome =
                Outcome::new("uninstalled", WaitCondition::Deleted).requested("removal requested");
            args.run("removed", uninstall::uninstall, outcome, printer)
                .await
        }
        Verb::Suspend(args) => suspend::run(args, true, printer).await,
        Verb::Resume(args) => suspend::run(args, false, printer).await,
        Verb::Reconcile(args) => reconcile::run(args, printer).await,
        Verb::Wait(args) => wait::run(args, printer).await,
    }
}
