//! `outrigger cluster logs`: prints the last output of each hook, on each machine.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::anyhow;
use kube::ResourceExt;
use outrigger_api::cluster::Cluster;
use outrigger_api::flow_status::HookStatus;
use outrigger_api::hook::Hook;
use outrigger_apimachinery::nearest::nearest;

use super::{clusters, explain, follow, machines};
use crate::commands::plugin::connect::{Connection, ServerFlags};
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger cluster logs cls-1
  outrigger cluster logs cls-1 --follow
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
    /// Also print the output of hooks that end later, each line with its machine, until nothing is left to do
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    cluster: ServerFlags,
}

/// Which hooks are printed.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    hook: Option<&'static str>,
    machine: Option<&'a str>,
}

impl Filter<'_> {
    /// What is printed if there is no output.
    fn none_ran(&self) -> String {
        match (self.hook, self.machine) {
            (None, None) => "no hook has run".to_owned(),
            (None, Some(machine)) => format!("no hook has run on machine {machine}"),
            (Some(hook), None) => format!("hook {hook} has not run"),
            (Some(hook), Some(machine)) => format!("hook {hook} has not run on machine {machine}"),
        }
    }
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let filter = Filter {
        hook: args.hook.as_deref().map(known_hook).transpose()?,
        machine: args.machine.as_deref(),
    };
    let connection = args.cluster.connect().await?;
    let Some((_, hooks)) = read(&connection, &args.name, &filter).await? else {
        // For its error.
        return super::edit::get(&connection, &args.name).await.map(drop);
    };
    if args.follow {
        return follow::follow(&connection, &args.name, &filter, printer).await;
    }
    if hooks.is_empty() {
        note(&filter.none_ran());
    }
    printer.text(&text(&hooks))
}

/// The cluster, and its hooks in the order in which they ended; `None` if it does not exist.
pub(super) async fn read(
    connection: &Connection,
    name: &str,
    filter: &Filter<'_>,
) -> anyhow::Result<Option<(Cluster, Vec<HookStatus>)>> {
    let cluster = clusters(connection).get_opt(name).await;
    let Some(cluster) = cluster.map_err(|error| explain(&error, Some(name)))? else {
        return Ok(None);
    };
    let machines = machines(connection, name).await?;
    let mut hooks = cluster.status.clone().unwrap_or_default().hooks;
    let names: BTreeSet<String> = machines.iter().map(ResourceExt::name_any).collect();
    for machine in machines {
        hooks.extend(machine.status.unwrap_or_default().hooks);
    }
    if let Some(machine) = filter.machine
        && !names.contains(machine)
        && !hooks.iter().any(|hook| hook.machine == *machine)
    {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = match nearest(machine, &names) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("outrigger machine list --cluster {name} lists them"),
        };
        return Err(anyhow!("cluster {name} has no machine {machine}")).hint(hint);
    }
    let is_wanted = |filter: Option<&str>, value: &str| filter.is_none_or(|it| it == value);
    hooks.retain(|it| is_wanted(filter.hook, &it.name) && is_wanted(filter.machine, &it.machine));
    hooks.sort_by(|a, b| (&a.finished, &a.machine).cmp(&(&b.finished, &b.machine)));
    Ok(Some((cluster, hooks)))
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

/// How a hook ended.
pub(super) fn exit_text(hook: &HookStatus) -> String {
    match hook.exit_code {
        Some(code) => format!("exit code {code}"),
        None => "did not end".to_owned(),
    }
}

fn text(hooks: &[HookStatus]) -> String {
    let mut text = String::new();
    for hook in hooks {
        let code = exit_text(hook);
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
    fn a_hook_that_has_not_run_is_not_taken_for_all_hooks() {
        let text = |hook, machine| Filter { hook, machine }.none_ran();
        assert_eq!(text(None, None), "no hook has run");
        assert_eq!(
            text(Some("PostUpgrade"), None),
            "hook PostUpgrade has not run"
        );
        assert_eq!(text(None, Some("a")), "no hook has run on machine a");
        assert_eq!(
            text(Some("PostUpgrade"), Some("a")),
            "hook PostUpgrade has not run on machine a"
        );
    }

    #[test]
    fn an_unknown_hook_is_an_error_and_the_case_does_not_matter() {
        assert_eq!(known_hook("preinstall").unwrap(), "PreInstall");
        let error = known_hook("PreInstal").unwrap_err();
        assert_eq!(error.to_string(), "there is no hook PreInstal");
    }
}
