//! `outrigger cluster logs`: prints the last output of each hook, on each machine.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::anyhow;
use kube::ResourceExt;
use outrigger_api::flow_status::HookStatus;
use outrigger_api::hook::Hook;
use outrigger_apimachinery::nearest::nearest;

use super::{clusters, explain, machines};
use crate::commands::plugin::connect::ServerFlags;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger cluster logs cls-1
  outrigger cluster logs cls-1 --hook PreInstall --machine worker-1";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
    cluster: ServerFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let hook = args.hook.as_deref().map(known_hook).transpose()?;
    let connection = args.cluster.connect().await?;
    let cluster = clusters(&connection).get(&args.name).await;
    let cluster = cluster.map_err(|error| explain(&error, Some(&args.name)))?;
    let machines = machines(&connection, &args.name).await?;
    let mut hooks = cluster.status.unwrap_or_default().hooks;
    let names: BTreeSet<String> = machines.iter().map(ResourceExt::name_any).collect();
    for machine in machines {
        hooks.extend(machine.status.unwrap_or_default().hooks);
    }
    if let Some(machine) = &args.machine
        && !names.contains(machine)
        && !hooks.iter().any(|hook| hook.machine == *machine)
    {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = match nearest(machine, &names) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("outrigger machine list --cluster {} lists them", args.name),
        };
        return Err(anyhow!("cluster {} has no machine {machine}", args.name)).hint(hint);
    }
    let is_wanted = |filter: Option<&str>, value: &str| filter.is_none_or(|it| it == value);
    hooks.retain(|it| is_wanted(hook, &it.name) && is_wanted(args.machine.as_deref(), &it.machine));
    if hooks.is_empty() {
        note("no hook has run");
    }
    hooks.sort_by(|a, b| (&a.finished, &a.machine).cmp(&(&b.finished, &b.machine)));
    printer.text(&text(&hooks))
}

/// The name of a hook, also in the wrong case.
fn known_hook(name: &str) -> anyhow::Result<&'static str> {
    let mut hooks = Hook::of_clusters();
    if let Some(hook) = hooks.find(|hook| hook.name.eq_ignore_ascii_case(name)) {
        return Ok(hook.name);
    }
    let names: Vec<&str> = Hook::of_clusters().map(|hook| hook.name).collect();
    let hint = match Hook::nearest(name) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("the hooks are {}", names.join(", ")),
    };
    Err(anyhow!("there is no hook {name}")).hint(hint)
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
        for line in hook.output.lines() {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_hook_is_an_error_and_the_case_does_not_matter() {
        assert_eq!(known_hook("preinstall").unwrap(), "PreInstall");
        let error = known_hook("PreInstal").unwrap_err();
        assert_eq!(error.to_string(), "there is no hook PreInstal");
    }
}
