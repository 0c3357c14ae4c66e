//! `outrigger plugin reconcile`: requests a reconcile at once, with a new look at the repository and without backoff.

use anyhow::anyhow;
use jiff::Timestamp;
use outrigger_api::annotation::{RECONCILE, SUSPEND};
use outrigger_api::plugin::Plugin;

use super::change::{ChangeFlags, Outcome};
use super::edit::edit_plugin;
use super::wait_condition::WaitCondition;
use crate::printer::Printer;
use crate::report::HintExt as _;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin reconcile monitoring --wait";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Names of the plugins
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.change.cluster.connect().await?;
    let api = connection.plugins();
    let now = Timestamp::now().to_string();
    let mut plugins = Vec::new();
    for name in &args.names {
        let edited = edit_plugin(&api, name, args.change.dry_run, |plugin| {
            request(plugin, &now)
        });
        plugins.push(edited.await?);
    }
    let outcome = Outcome::new("reconciled", WaitCondition::Ready).requested("reconcile requested");
    args.change
        .finish(&connection, &plugins, outcome, printer)
        .await
}

/// Requests a reconcile. Like Flux, refuses it for a suspended plugin, which the controller leaves alone.
fn request(plugin: &mut Plugin, now: &str) -> anyhow::Result<()> {
    let (namespace, name) = (plugin.namespace(), plugin.name());
    if plugin.is_annotated(SUSPEND) {
        let hint = format!("outrigger plugin resume {name} -n {namespace} reconciles it");
        return Err(anyhow!("plugin {namespace}/{name} is suspended")).hint(hint);
    }
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(RECONCILE.to_owned(), now.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_suspended_plugin_is_not_said_to_be_reconciled() {
        let requested = |annotations: Value| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "spec": {},
                "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
            });
            let mut plugin = serde_json::from_value(plugin).unwrap();
            request(&mut plugin, "now").map(|()| plugin.is_annotated(RECONCILE))
        };
        assert!(requested(json!({})).is_ok());
        let error = requested(json!({SUSPEND: "true"})).unwrap_err();
        assert_eq!(error.to_string(), "plugin default/web is suspended");
    }
}
