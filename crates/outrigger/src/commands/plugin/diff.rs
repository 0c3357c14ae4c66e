//! `outrigger plugin diff`: shows what a change would do, by object and field.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use outrigger_api::annotation::SUSPEND;
use outrigger_api::condition::Condition;
use outrigger_api::plugin::{Drift, Plugin};
use outrigger_api::reason::Reason;
use outrigger_controller::{Options, Preview, PreviewError, dry_run};
use outrigger_release::{Action, Plan};

use super::change::ensure_valid;
use super::connect::{ClusterFlags, Connection};
use super::spec_flags::SpecFlags;
use super::{file, repo_path};
use crate::arguments::{Output, OutputFlag};
use crate::printer::Printer;
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin diff web --version 1.3.0
  outrigger plugin diff web --set replicas=3 -o json
  outrigger plugin diff -F plugin.yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    #[arg(required_unless_present = "plugin_files")]
    name: Option<String>,
    /// Files or directories with the changed plugins, `-` for stdin
    #[arg(
        short = 'F',
        long = "file",
        value_name = "FILE",
        conflicts_with_all = [
            "name", "version", "latest", "repo", "conflicts", "files", "set", "set_string", "set_json", "set_file", "set_literal",
        ]
    )]
    plugin_files: Vec<PathBuf>,
    #[command(flatten)]
    spec: SpecFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let directory = std::env::current_dir()?;
    let spec = args.spec.read(&directory)?;
    let mut plugins = match args.plugin_files.as_slice() {
        [] => Vec::new(),
        files => file::read(files)?,
    };
    let connection = args.cluster.connect().await?;
    if let Some(name) = &args.name {
        let mut plugin = connection.get(name).await?;
        spec.apply(&mut plugin, &directory);
        plugins.push(plugin);
    }
    let mut plans = Vec::new();
    let mut refusals = Vec::new();
    for plugin in plugins {
        let name = plugin.name().to_owned();
        let Preview { plan, refusal } = Box::pin(plan(&connection, plugin, &directory)).await?;
        plans.push(plan);
        refusals.extend(refusal.map(|refusal| refused(&name, &refusal)));
    }
    print(&plans, args.output.output, printer)?;
    match refusals.as_slice() {
        [] => Ok(()),
        refusals => Err(anyhow!(refusals.join("\n"))),
    }
}

/// What is reported if the API server would refuse what the controller would do.
pub(super) fn refused(name: &str, refusal: &PreviewError) -> String {
    format!("plugin {name} cannot be changed so: {refusal}")
}

fn print(plans: &[Plan], format: Output, printer: &Printer) -> anyhow::Result<()> {
    match (format, plans) {
        (Output::Table, plans) => plans
            .iter()
            .try_for_each(|plan| printer.text(&plan.to_string())),
        (format, [plan]) => printer.value(format, plan),
        (format, plans) => printer.value(format, &plans),
    }
}

/// Plans what the controller would do.
pub(super) async fn plan(
    connection: &Connection,
    mut plugin: Plugin,
    directory: &Path,
) -> anyhow::Result<Preview> {
    let namespace = &mut plugin.metadata.namespace;
    namespace.get_or_insert_with(|| connection.namespace.clone());
    let repo = plugin.spec.repo.as_deref();
    plugin.spec.repo = repo.map(|repo| repo_path::absolute(repo, directory));
    ensure_valid(&plugin)?;
    if !plugin.spec.enabled {
        note(&format!(
            "plugin {} is disabled; the diff assumes that it is enabled",
            plugin.name()
        ));
    }
    let options = Options {
        fetcher: outrigger_repository::Options::for_user(),
        ..Options::default()
    };
    let preview = Box::pin(dry_run(connection.client.clone(), options, &plugin)).await?;
    if !preview.plan.is_empty()
        && let Some(reason) = not_applied(&plugin, preview.plan.action)
    {
        note(&reason);
    }
    Ok(preview)
}

/// Why the controller would not do what the plan says, if it would not.
fn not_applied(plugin: &Plugin, action: Action) -> Option<String> {
    let (name, namespace) = (plugin.name(), plugin.namespace());
    if plugin.metadata.deletion_timestamp.is_some() {
        return Some(format!(
            "plugin {name} is being deleted, so nothing is applied"
        ));
    }
    if plugin.is_annotated(SUSPEND) {
        return Some(format!(
            "plugin {name} is suspended, so nothing is applied until `outrigger plugin resume {name} -n {namespace}`"
        ));
    }
    let ready = plugin.condition("Ready");
    let is_refused = |ready: &&Condition| ready.has_reason(&[Reason::ReleaseConflict]);
    if let Some(ready) = ready.filter(is_refused) {
        return Some(format!(
            "the controller refuses to apply it: {}",
            ready.message
        ));
    }
    let is_drift = action == Action::Repair;
    (is_drift && plugin.spec.drift != Drift::Correct).then(|| {
        let policy = format!("{:?}", plugin.spec.drift).to_lowercase();
        format!("the differences are drift, which is not corrected with `drift: {policy}`")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_will_not_be_applied_is_said() {
        let note = |annotations: Value, spec: Value, reason: &str, action| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
                "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
                "spec": spec,
                "status": {"conditions": [{
                    "type": "Ready", "status": "False", "reason": reason, "message": "because",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            });
            let plugin: Plugin = serde_json::from_value(plugin).unwrap();
            not_applied(&plugin, action).unwrap_or_default()
        };
        let suspended = json!({"outrigger.dev/suspend": "true"});
        let text = note(suspended, json!({}), "Ready", Action::Upgrade);
        assert!(text.contains("is suspended"), "{text}");
        let warn = json!({"drift": "warn"});
        let text = note(json!({}), warn.clone(), "Ready", Action::Repair);
        assert!(text.contains("`drift: warn`"), "{text}");
        assert_eq!(note(json!({}), warn, "Ready", Action::Upgrade), "");
        let text = note(json!({}), json!({}), "ReleaseConflict", Action::Upgrade);
        assert_eq!(text, "the controller refuses to apply it: because");
    }
}
