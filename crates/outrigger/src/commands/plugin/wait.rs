//! `outrigger plugin wait`: waits until plugins meet a condition.

use std::time::Duration;

use anyhow::ensure;
use outrigger_api::plugin::Plugin;

use super::connect::ClusterFlags;
use super::progress::{self, Key};
use super::wait_condition::WaitCondition;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin wait web --timeout 2m
  outrigger plugin wait --all
  outrigger plugin wait web --for deleted";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Names of the plugins
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// Wait for all plugins of all namespaces
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Condition to wait for
    #[arg(long = "for", value_name = "CONDITION", value_enum, default_value_t)]
    condition: WaitCondition,
    /// Maximum time to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = progress::parse_timeout)]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let keys: Vec<Key> = if args.all {
        connection.all().await?.iter().map(progress::key).collect()
    } else {
        let names = args.names.iter();
        names
            .map(|name| (connection.namespace.clone(), name.clone()))
            .collect()
    };
    ensure!(!keys.is_empty(), "there are no plugins to wait for");
    if args.condition != WaitCondition::Deleted && !args.all {
        // Fails at once if a plugin does not exist.
        for name in &args.names {
            connection.get(name).await?;
        }
    }
    let client = &connection.client;
    progress::wait::<Plugin>(client, &keys, &args.condition, args.timeout).await?;
    for (namespace, name) in keys {
        let state = match args.condition {
            WaitCondition::Ready => "ready",
            WaitCondition::Disabled => "disabled",
            WaitCondition::Deleted => "deleted",
        };
        printer.line(&format!("plugin {namespace}/{name} {state}"))?;
    }
    Ok(())
}
