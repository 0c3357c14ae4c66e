//! `outrigger cluster logs --follow`: prints the output of hooks as they end, each line with its machine.

use std::collections::BTreeSet;

use futures::{FutureExt as _, StreamExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::flow_status::HookStatus;

use super::logs::{Filter, exit_text, read};
use super::wait::ClusterCondition;
use super::watch::changes;
use crate::commands::plugin::connect::Connection;
use crate::commands::plugin::progress::Awaited as _;
use crate::commands::plugin::wait_condition::WaitStatus;
use crate::printable;
use crate::printer::Printer;

/// Prints what hooks printed, and then what they print, until nothing is left to do for the cluster.
pub(super) async fn follow(
    connection: &Connection,
    name: &str,
    filter: &Filter<'_>,
    printer: &Printer,
) -> anyhow::Result<()> {
    let mut changes = changes(&connection.client);
    let mut followed = Followed::default();
    while let Some((cluster, hooks)) = read(connection, name, filter).await? {
        printer.text(&followed.new_lines(&hooks))?;
        if is_idle(&cluster) {
            break;
        }
        let _ = changes.next().await;
        // What changed meanwhile is read at once.
        while let Some(Some(_)) = changes.next().now_or_never() {}
    }
    Ok(())
}

fn is_idle(cluster: &Cluster) -> bool {
    let status = Cluster::evaluate(Some(cluster), &ClusterCondition::of(cluster));
    matches!(status, WaitStatus::Met | WaitStatus::Failed(_))
}

/// The executions of hooks that were printed: machine, hook and attempt.
#[derive(Debug, Default)]
struct Followed {
    printed: BTreeSet<(String, String, String)>,
}

impl Followed {
    /// The output of hooks that ended since the last call.
    fn new_lines(&mut self, hooks: &[HookStatus]) -> String {
        let mut text = String::new();
        for hook in hooks {
            let HookStatus {
                name,
                machine,
                attempt,
                ..
            } = hook;
            let key = (machine.clone(), name.clone(), attempt.clone());
            if !self.printed.insert(key) {
                continue;
            }
            let start = hook.truncated.then_some("[the beginning is missing]");
            let end = exit_text(hook);
            let lines = start.into_iter().chain(hook.output.lines());
            for line in lines.chain([end.as_str()]) {
                text.push_str(&format!("{machine} {name}: {}\n", printable::line(line)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_execution_is_printed_once_with_its_machine() {
        let hook = |machine: &str, attempt: &str, code| HookStatus {
            name: "PreInstall".to_owned(),
            machine: machine.to_owned(),
            attempt: attempt.to_owned(),
            exit_code: Some(code),
            output: "one\ntwo\x1b[2J\n".to_owned(),
            ..HookStatus::default()
        };
        let mut followed = Followed::default();
        let first = followed.new_lines(&[hook("m1", "1", 3)]);
        assert_eq!(
            first,
            "m1 PreInstall: one\nm1 PreInstall: two\nm1 PreInstall: exit code 3\n"
        );
        assert_eq!(followed.new_lines(&[hook("m1", "1", 3)]), "");
        let next = followed.new_lines(&[hook("m1", "2", 0), hook("m2", "1", 0)]);
        assert_eq!(next.matches("exit code 0").count(), 2, "{next}");
    }
}
