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
    let plugins = progress::wait::<Plugin>(client, &keys, &args.condition, args.timeout).await?;
    for key in keys {
        let plugin = plugins.get(&key).and_then(Option::as_ref);
        let state = state(plugin, args.condition);
        let (namespace, name) = key;
        printer.line(&format!("plugin {namespace}/{name} {state}"))?;
    }
    Ok(())
}

/// How a plugin met the condition: a disabled one is not ready, but nothing is left to be done about it.
fn state(plugin: Option<&Plugin>, condition: WaitCondition) -> &'static str {
    match condition {
        WaitCondition::Ready if plugin.is_some_and(|plugin| !plugin.spec.enabled) => "disabled",
        WaitCondition::Ready => "ready",
        WaitCondition::Disabled => "disabled",
        WaitCondition::Deleted => "deleted",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_disabled_plugin_is_not_said_to_be_ready() {
        let state = |enabled: bool, condition| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"},
                "spec": {"enabled": enabled},
            });
            state(Some(&serde_json::from_value(plugin).unwrap()), condition)
        };
        assert_eq!(state(true, WaitCondition::Ready), "ready");
        assert_eq!(state(false, WaitCondition::Ready), "disabled");
        assert_eq!(state(false, WaitCondition::Disabled), "disabled");
    }
}
