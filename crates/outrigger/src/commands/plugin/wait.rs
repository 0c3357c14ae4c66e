//! `outrigger plugin wait`: until plugins are where they should be.

use std::time::Duration;

use anyhow::ensure;

use super::connect::ClusterFlags;
use super::progress::{self, Key};
use super::verdict::Goal;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin wait web --timeout 2m
  outrigger plugin wait --all
  outrigger plugin wait web --for gone";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The plugins
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// All plugins of all namespaces
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// What to wait for
    #[arg(long = "for", value_name = "STATE", value_enum, default_value_t)]
    goal: Goal,
    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = progress::parse_time)]
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
    if args.goal != Goal::Gone && !args.all {
        // A name that is not there would be waited for in vain.
        for name in &args.names {
            connection.get(name).await?;
        }
    }
    progress::wait(&connection.client, &keys, args.goal, args.timeout).await?;
    for (namespace, name) in keys {
        let state = match args.goal {
            Goal::Ready => "ready",
            Goal::Disabled => "disabled",
            Goal::Gone => "gone",
        };
        printer.line(&format!("plugin {namespace}/{name} {state}"))?;
    }
    Ok(())
}
