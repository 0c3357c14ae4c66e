//! `outrigger plugin list`: lists plugins and their phases.

use kube::api::ListParams;
use outrigger_api::plugin::Plugin;
use serde::Serialize;

use super::connect::{ClusterFlags, explain};
use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};

const EXAMPLES: &str = "\
Examples:
  outrigger plugin list
  outrigger plugin list -A -l team=core -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List the plugins of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Label selector
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct PluginRow(Plugin);

impl Row for PluginRow {
    const HEADERS: &'static [&'static str] = &["NAMESPACE", "NAME", "PHASE", "VERSION", "MESSAGE"];

    fn cells(&self) -> Vec<String> {
        let plugin = &self.0;
        let status = plugin.status.as_ref();
        let ready = plugin.condition("Ready");
        vec![
            plugin.namespace().to_owned(),
            plugin.name().to_owned(),
            format!("{:?}", plugin.phase()),
            status
                .and_then(|status| status.version.clone())
                .unwrap_or_else(|| "-".to_owned()),
            ready
                .map(|ready| truncate(&ready.message))
                .unwrap_or_default(),
        ]
    }
}

/// The first line, truncated to 100 characters.
fn truncate(message: &str) -> String {
    const MAX_CHARS: usize = 100;
    let line = message.lines().next().unwrap_or_default();
    if line.chars().count() <= MAX_CHARS {
        return line.to_owned();
    }
    line.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let api = if args.all_namespaces {
        kube::Api::all(connection.client.clone())
    } else {
        connection.plugins()
    };
    let parameters = ListParams {
        label_selector: args.selector.clone(),
        ..ListParams::default()
    };
    let list = api
        .list(&parameters)
        .await
        .map_err(|error| explain(error, None))?;
    let mut rows: Vec<PluginRow> = list.items.into_iter().map(PluginRow).collect();
    for row in &mut rows {
        row.0.metadata.managed_fields = None;
    }
    rows.sort_by_key(|row| super::progress::key(&row.0));
    printer.list(args.output.output, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_messages_to_one_line() {
        assert_eq!(truncate("one\ntwo"), "one");
        assert_eq!(truncate(&"x".repeat(300)).chars().count(), 100);
    }
}
