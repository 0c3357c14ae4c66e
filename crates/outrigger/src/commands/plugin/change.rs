//! What all verbs that change a plugin share: dry run, waiting, validation and output.

use std::time::Duration;

use anyhow::anyhow;
use outrigger_api::annotation::SUSPEND;
use outrigger_api::plugin::{Plugin, validate};
use outrigger_api::reason::Reason;
use outrigger_controller::{Options, dry_run};

use super::connect::{ClusterFlags, Connection};
use super::diff;
use super::edit::edit;
use super::progress::{self, WaitFlags};
use super::wait_condition::WaitCondition;
use crate::arguments::{Output, OutputFlag};
use crate::printer::Printer;
use crate::report::note;

/// How long a dry run tries to find out what the controller would do.
const DRY_RUN_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct ChangeFlags {
    /// Server-side dry run: validate the change without persisting it
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) wait: WaitFlags,
    #[command(flatten)]
    pub(super) output: OutputFlag,
    // Last: its help heading would apply to the flags that follow.
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,
}

/// What a verb does, and what `--wait` waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome<'a> {
    /// What is printed if it was waited for.
    done: &'a str,
    /// What is printed otherwise: the controller has yet to do it.
    requested: &'a str,
    condition: Option<WaitCondition>,
}

impl<'a> Outcome<'a> {
    /// A verb that changes the Plugin object, which is done at once.
    pub(super) fn new(done: &'a str, condition: WaitCondition) -> Self {
        Self {
            done,
            requested: done,
            condition: Some(condition),
        }
    }

    /// A verb that the controller does nothing about.
    pub(super) fn immediate(done: &'a str) -> Self {
        Self {
            done,
            requested: done,
            condition: None,
        }
    }

    pub(super) fn requested(self, requested: &'a str) -> Self {
        Self { requested, ..self }
    }

    /// Whether the Plugin object is deleted, as opposed to changed.
    pub(super) fn is_deletion(&self) -> bool {
        self.condition == Some(WaitCondition::Deleted)
    }

    /// What is printed about a plugin. The controller does nothing about one that is suspended.
    fn action(&self, plugin: &Plugin, is_awaited: bool) -> &'a str {
        if self.note(plugin).is_some() {
            "configured"
        } else if is_awaited {
            self.done
        } else {
            self.requested
        }
    }

    /// What the user should know about a changed plugin before it is waited for, which would fail.
    fn note(&self, plugin: &Plugin) -> Option<String> {
        let awaits_controller = self.condition.is_some() && !self.is_deletion();
        if !awaits_controller || !plugin.is_annotated(SUSPEND) {
            return None;
        }
        let (namespace, name) = (plugin.namespace(), plugin.name());
        Some(format!(
            "plugin {namespace}/{name} is suspended: the change is stored, but not applied until `outrigger plugin resume \
             {name} -n {namespace}`"
        ))
    }
}

impl ChangeFlags {
    /// Changes the spec of one plugin. `done` is what is printed after `--wait`.
    pub(super) async fn edit(
        &self,
        name: &str,
        done: &str,
        printer: &Printer,
        change: impl Fn(&mut Plugin) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let connection = self.cluster.connect().await?;
        let plugin = edit(&connection.plugins(), name, self.dry_run, |plugin| {
            change(plugin)?;
            ensure_valid(plugin)
        })
        .await?;
        if self.dry_run {
            ensure_accepted(&connection, &plugin).await?;
        }
        let outcome = Outcome::new(done, WaitCondition::Ready).requested("configured");
        self.finish(&connection, &[plugin], outcome, printer).await
    }

    /// Waits for the condition if `--wait` is set, then prints the plugins.
    pub(super) async fn finish(
        &self,
        connection: &Connection,
        plugins: &[Plugin],
        outcome: Outcome<'_>,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        if !self.dry_run {
            for text in plugins.iter().filter_map(|plugin| outcome.note(plugin)) {
                note(&text);
            }
        }
        let condition = outcome
            .condition
            .filter(|_| self.wait.wait && !self.dry_run);
        if let Some(condition) = condition {
            let keys: Vec<_> = plugins.iter().map(progress::key).collect();
            let client = &connection.client;
            progress::wait::<Plugin>(client, &keys, &condition, self.wait.timeout).await?;
        }
        let format = self.output.output;
        if format != Output::Table {
            let mut printed = plugins.to_vec();
            for plugin in &mut printed {
                plugin.metadata.managed_fields = None;
            }
            return match printed.as_slice() {
                [plugin] => printer.value(format, plugin),
                plugins => printer.value(format, &plugins),
            };
        }
        let suffix = if self.dry_run { " (dry run)" } else { "" };
        for plugin in plugins {
            let (namespace, name) = progress::key(plugin);
            let action = outcome.action(plugin, condition.is_some());
            printer.line(&format!("plugin {namespace}/{name} {action}{suffix}"))?;
        }
        Ok(())
    }
}

/// Rejects a change of an installed plugin that the API server would refuse when the controller applies it. What cannot be
/// found out here, for example because only the controller can read the chart, is not an error.
pub(super) async fn ensure_accepted(
    connection: &Connection,
    plugin: &Plugin,
) -> anyhow::Result<()> {
    let status = plugin.status.as_ref();
    if status.is_none_or(|status| status.revision.is_none()) {
        return Ok(());
    }
    let options = Options {
        fetcher: outrigger_repository::Options::for_user(),
        ..Options::default()
    };
    let preview = dry_run(connection.client.clone(), options, plugin);
    let preview = tokio::time::timeout(DRY_RUN_TIMEOUT, Box::pin(preview)).await;
    let refusal = match preview {
        Ok(Ok(preview)) => preview.refusal,
        Ok(Err(error)) => Some(error).filter(|error| error.reason == Some(Reason::Refused)),
        Err(_) => None,
    };
    match refusal {
        Some(refusal) => Err(anyhow!(diff::refused(plugin.name(), &refusal))),
        None => Ok(()),
    }
}

/// Rejects what the controller would reject.
pub(super) fn ensure_valid(plugin: &Plugin) -> anyhow::Result<()> {
    let problems = validate(plugin);
    if problems.is_empty() {
        return Ok(());
    }
    let name = plugin.name();
    let problems: String = problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect();
    anyhow::bail!("plugin {name} is invalid:{problems}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_change_of_a_suspended_plugin_is_said_to_be_stored_and_not_applied() {
        let note = |annotations: Value, outcome: Outcome<'_>| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "spec": {},
                "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
            });
            outcome.note(&serde_json::from_value(plugin).unwrap())
        };
        let suspended = || json!({SUSPEND: "true"});
        let action = |annotations: Value| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "spec": {},
                "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
            });
            let outcome = Outcome::new("disabled", WaitCondition::Disabled);
            let outcome = outcome.requested("is being disabled");
            outcome.action(&serde_json::from_value(plugin).unwrap(), false)
        };
        assert_eq!(action(suspended()), "configured");
        assert_eq!(action(json!({})), "is being disabled");
        for condition in [WaitCondition::Ready, WaitCondition::Disabled] {
            let changed = Outcome::new("changed", condition);
            assert_eq!(
                note(suspended(), changed).as_deref(),
                Some(
                    "plugin default/web is suspended: the change is stored, but not applied until `outrigger plugin \
                     resume web -n default`"
                )
            );
            assert_eq!(note(json!({}), changed), None);
        }
        assert_eq!(note(suspended(), Outcome::immediate("suspended")), None);
        let deleted = Outcome::new("uninstalled", WaitCondition::Deleted);
        assert_eq!(note(suspended(), deleted), None);
    }
}
