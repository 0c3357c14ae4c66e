//! `outrigger plugin`: components of a cluster, switched on and off.
//!
//! The verbs speak to the Kubernetes API alone: they write Plugin objects and read their status. The work is done by
//! the controller, wherever it runs.

use std::process::ExitCode;

use anyhow::Context as _;

use self::verdict::Goal;
use crate::printer::Printer;

mod change;
mod connect;
mod dependants;
mod diff;
mod disable;
mod edit;
mod enable;
pub(crate) mod file;
mod history;
mod install;
mod list;
mod progress;
mod reach;
mod release;
mod repo_path;
mod rollback;
mod set;
mod show;
mod uninstall;
mod upgrade;
mod values;
mod verdict;
mod wait;
mod wish;

#[cfg(test)]
mod tests;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin list
  outrigger plugin install web --repo https://charts.example.com --version ^1.2 --wait
  outrigger plugin set web --set replicas=3 --wait
  outrigger plugin disable web";

/// Switch components of a cluster on and off, and configure them
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// List plugins and where they are in their life
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show all about a plugin
    Show(show::Args),
    /// Add a plugin, from flags or from files
    Install(Box<install::Args>),
    /// Switch a plugin on
    Enable(enable::Args),
    /// Switch a plugin off: all that it added goes, the plugin stays
    #[command(after_help = disable::EXAMPLES)]
    Disable(reach::Target),
    /// Change the values of a plugin
    Set(Box<set::Args>),
    /// Change the version of a plugin
    Upgrade(Box<upgrade::Args>),
    /// Show what a change of a plugin would do to the cluster
    Diff(Box<diff::Args>),
    /// List the revisions of a plugin
    History(history::Args),
    /// Go back to the version and values of an earlier revision
    Rollback(rollback::Args),
    /// Remove a plugin and all that it added
    #[command(after_help = uninstall::EXAMPLES, visible_alias = "delete")]
    Uninstall(reach::Target),
    /// Wait until plugins are ready, off or gone
    Wait(wait::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(Box::pin(perform(verb, printer)))?;
    Ok(ExitCode::SUCCESS)
}

async fn perform(verb: &Verb, printer: &Printer) -> anyhow::Result<()> {
    match verb {
        Verb::List(args) => list::run(args, printer).await,
        Verb::Show(args) => show::run(args, printer).await,
        Verb::Install(args) => install::run(args, printer).await,
        Verb::Enable(args) => enable::run(args, printer).await,
        Verb::Disable(target) => {
            let goal = Goal::Disabled;
            target
                .run(disable::disable, "disabled", goal, printer)
                .await
        }
        Verb::Set(args) => set::run(args, printer).await,
        Verb::Upgrade(args) => upgrade::run(args, printer).await,
        Verb::Diff(args) => diff::run(args, printer).await,
        Verb::History(args) => history::run(args, printer).await,
        Verb::Rollback(args) => rollback::run(args, printer).await,
        Verb::Uninstall(target) => {
            let goal = Goal::Gone;
            target
                .run(uninstall::uninstall, "uninstalled", goal, printer)
                .await
        }
        Verb::Wait(args) => wait::run(args, printer).await,
    }
}
