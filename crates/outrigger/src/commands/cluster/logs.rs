//! `outrigger cluster logs`: prints the last output of each hook, on each machine.

use std::fmt::Write as _;

use outrigger_api::flow_status::HookStatus;

use super::{clusters, explain, machines};
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Only this hook, such as `PreInstall`
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// Only this machine
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let cluster = clusters(&connection).get(&args.name).await;
    let cluster = cluster.map_err(|error| explain(&error, Some(&args.name)))?;
    let mut hooks = cluster.status.unwrap_or_default().hooks;
    for machine in machines(&connection, &args.name).await? {
        hooks.extend(machine.status.unwrap_or_default().hooks);
    }
    let is_wanted = |filter: Option<&str>, value: &str| filter.is_none_or(|it| it == value);
    hooks.retain(|hook| {
        is_wanted(args.hook.as_deref(), &hook.name)
            && is_wanted(args.machine.as_deref(), &hook.machine)
    });
    hooks.sort_by(|a, b| (&a.finished, &a.machine).cmp(&(&b.finished, &b.machine)));
    printer.bytes(text(&hooks).as_bytes())
}

fn text(hooks: &[HookStatus]) -> String {
    let mut text = String::new();
    for hook in hooks {
        let code = match hook.exit_code {
            Some(code) => format!("exit code {code}"),
            None => "did not end".to_owned(),
        };
        let HookStatus {
            name,
            machine,
            finished,
            ..
        } = hook;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "==> {name} on {machine}, {finished}, {code}");
        if hook.truncated {
            text.push_str("[the beginning is missing]\n");
        }
        text.push_str(&hook.output);
        if !hook.output.is_empty() && !hook.output.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}
