//! What all verbs that change a plugin have in common: dry runs, waiting, and what is printed.

use outrigger_api::plugin::{Plugin, check};

use super::connect::Connection;
use super::progress::{self, WaitFlags};
use super::verdict::Goal;
use crate::arguments::{Output, OutputFlag};
use crate::printer::Printer;

/// The flags of verbs that change something.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Outcome")]
pub(crate) struct ChangeFlags {
    /// Only say what would be; the API server checks it, nothing is kept
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) wait: WaitFlags,
    #[command(flatten)]
    pub(super) output: OutputFlag,
}

impl ChangeFlags {
    /// Waits if that is asked for, then prints what became of the plugins.
    pub(super) async fn finish(
        &self,
        connection: &Connection,
        plugins: &[Plugin],
        done: &str,
        goal: Goal,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        if self.wait.wait && !self.dry_run {
            let keys: Vec<_> = plugins.iter().map(progress::key).collect();
            progress::wait(&connection.client, &keys, goal, self.wait.timeout).await?;
        }
        let form = self.output.output;
        if form != Output::Table {
            let mut shown = plugins.to_vec();
            for plugin in &mut shown {
                plugin.metadata.managed_fields = None;
            }
            return match shown.as_slice() {
                [plugin] => printer.value(form, plugin),
                plugins => printer.value(form, &plugins),
            };
        }
        let dry = if self.dry_run { " (dry run)" } else { "" };
        for plugin in plugins {
            let (namespace, name) = progress::key(plugin);
            printer.line(&format!("plugin {namespace}/{name} {done}{dry}"))?;
        }
        Ok(())
    }
}

/// Refuses what the controller would refuse.
pub(super) fn ensure_good(plugin: &Plugin) -> anyhow::Result<()> {
    let problems = check(plugin);
    if problems.is_empty() {
        return Ok(());
    }
    let name = plugin.name();
    let told: String = problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect();
    anyhow::bail!("plugin {name} is not right:{told}")
}
