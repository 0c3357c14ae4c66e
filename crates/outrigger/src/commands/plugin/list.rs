//! `outrigger plugin list`: what there is, and how it is.

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
    /// Those of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only those with these labels
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// A line of the list.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Line(Plugin);

impl Row for Line {
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
            ready.map(|ready| short(&ready.message)).unwrap_or_default(),
        ]
    }
}

/// The first line, and not too much of it.
fn short(message: &str) -> String {
    const MOST: usize = 100;
    let line = message.lines().next().unwrap_or_default();
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    line.chars().take(MOST - 1).chain(['…']).collect()
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
    let mut lines: Vec<Line> = list.items.into_iter().map(Line).collect();
    for line in &mut lines {
        line.0.metadata.managed_fields = None;
    }
    lines.sort_by_key(|line| super::progress::key(&line.0));
    printer.list(args.output.output, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_takes_one_line_of_the_table() {
        assert_eq!(short("one\ntwo"), "one");
        assert_eq!(short(&"x".repeat(300)).chars().count(), 100);
    }
}
