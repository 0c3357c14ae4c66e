//! What all verbs that change clusters or machines share: dry run, waiting and output.

use kube::Client;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

use super::wait::ClusterCondition;
use crate::commands::machine::wait::MachineCondition;
use crate::commands::plugin::connect::ServerFlags;
use crate::commands::plugin::progress::{self, Awaited, Deadline, WaitFlags};
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct ChangeFlags {
    /// Server-side dry run: validate the change without persisting it
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    wait: WaitFlags,
    // Last: its help heading would apply to the flags that follow.
    #[command(flatten)]
    pub(crate) server: ServerFlags,
}

/// What a verb does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome<'a> {
    /// What is printed if the controller has yet to do it.
    pub(crate) requested: &'a str,
    /// What is printed if it was waited for.
    pub(crate) done: &'a str,
}

impl ChangeFlags {
    /// Waits for the condition if `--wait` is set, then prints the outcome for each object.
    pub(crate) async fn finish<K: Awaited>(
        &self,
        client: &Client,
        names: &[String],
        condition: &K::Condition,
        outcome: Outcome<'_>,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        let deadline = self.deadline();
        self.wait::<K>(client, names, condition, deadline).await?;
        self.print::<K>(names, outcome, printer)
    }

    /// Like [`Self::finish`] for clusters with machines that must run too.
    pub(crate) async fn finish_clusters(
        &self,
        client: &Client,
        clusters: (&[String], &ClusterCondition),
        machines: (&[String], &MachineCondition),
        outcome: Outcome<'_>,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        let deadline = self.deadline();
        let (names, condition) = clusters;
        self.wait::<Cluster>(client, names, condition, deadline)
            .await?;
        let (machines, condition) = machines;
        self.wait::<Machine>(client, machines, condition, deadline)
            .await?;
        self.print::<Cluster>(names, outcome, printer)
    }

    /// Whether one of the flags is given that make sense only for a change.
    pub(crate) fn is_used(&self) -> bool {
        self.wait.wait || self.dry_run
    }

    fn is_waiting(&self) -> bool {
        self.wait.wait && !self.dry_run
    }

    fn deadline(&self) -> Deadline {
        Deadline::after(self.wait.timeout)
    }

    async fn wait<K: Awaited>(
        &self,
        client: &Client,
        names: &[String],
        condition: &K::Condition,
        deadline: Deadline,
    ) -> anyhow::Result<()> {
        if self.is_waiting() {
            let keys: Vec<_> = names.iter().map(|it| (String::new(), it.clone())).collect();
            progress::wait_until::<K>(client, &keys, condition, deadline).await?;
        }
        Ok(())
    }

    fn print<K: Awaited>(
        &self,
        names: &[String],
        outcome: Outcome<'_>,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        let text = if self.is_waiting() {
            outcome.done
        } else {
            outcome.requested
        };
        let suffix = if self.dry_run { " (dry run)" } else { "" };
        for name in names {
            printer.line(&format!("{} {name}{text}{suffix}", K::NOUN))?;
        }
        Ok(())
    }
}
