//! Each hook of each flow on real machines: once, in order, recorded; failures are retried and shown.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use futures::StreamExt as _;
use kube::runtime::watcher::{Config, Event, watcher};
use outrigger_api::condition::Condition;
use outrigger_api::flow_status::HookStatus;
use outrigger_api::hook::{Hook, HookScope};
use outrigger_api::step::{FlowName, steps};
use outrigger_testing::machines::Machines;

use super::fixture::{Up, addresses, cluster, machines, write_script};

/// Fails at the first attempt on each machine. Notes each execution with its arguments.
const SCRIPT: &str = "#!/bin/sh
echo \"$OUTRIGGER_HOOK $OUTRIGGER_ATTEMPT $# $(date +%s%N)\" >>/markers
if [ $OUTRIGGER_ATTEMPT = 1 ]; then echo \"$OUTRIGGER_HOOK is broken\"; exit 3; fi
echo \"$OUTRIGGER_HOOK works on $OUTRIGGER_MACHINE as $OUTRIGGER_ROLE\"
";

/// One execution of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Execution {
    machine: usize,
    hook: String,
    attempt: u32,
    arguments: usize,
    time: u128,
}

fn executions(machines: &Machines) -> anyhow::Result<Vec<Execution>> {
    let mut executions = Vec::new();
    for (machine, stand_in) in machines.machines().iter().enumerate() {
        let text = fs_err::read_to_string(stand_in.stand_in.path("/markers"))?;
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [hook, attempt, arguments, time] = words[..] else {
                anyhow::bail!("{line}");
            };
            executions.push(Execution {
                machine,
                hook: hook.to_owned(),
                attempt: attempt.parse()?,
                arguments: arguments.parse()?,
                time: time.parse()?,
            });
        }
    }
    executions.sort_by_key(|execution| execution.time);
    Ok(executions)
}

/// The hooks of a flow in their order.
fn hooks_of(flow: FlowName) -> Vec<&'static Hook> {
    let steps = steps(flow).iter();
    steps.filter_map(|step| Hook::of_step(step.id)).collect()
}

/// Checks one hook of a flow: twice on each of its machines, first failed, with the right arguments.
fn check_hook(hook: &Hook, executions: &[Execution], machines: usize) -> anyhow::Result<()> {
    let expected: BTreeSet<(usize, u32)> = match hook.scope {
        HookScope::Cluster => [(0, 1), (0, 2)].into(),
        _ => (0..machines)
            .flat_map(|machine| [(machine, 1), (machine, 2)])
            .collect(),
    };
    let of_hook = executions
        .iter()
        .filter(|execution| execution.hook == hook.name);
    let of_hook: Vec<&Execution> = of_hook.collect();
    let actual: BTreeSet<(usize, u32)> =
        of_hook.iter().map(|it| (it.machine, it.attempt)).collect();
    ensure!(
        actual == expected && of_hook.len() == expected.len(),
        "{}: {of_hook:#?}",
        hook.name
    );
    let arguments = usize::from(hook.scope == HookScope::Cluster);
    ensure!(
        of_hook.iter().all(|it| it.arguments == arguments),
        "{of_hook:#?}"
    );
    Ok(())
}

/// Checks that a hook of the cluster runs after all earlier hooks, and before all later ones.
fn check_order(hooks: &[&Hook], executions: &[Execution]) -> anyhow::Result<()> {
    for pair in hooks.windows(2) {
        let is_cluster = pair.iter().any(|hook| hook.scope == HookScope::Cluster);
        let last = executions.iter().rposition(|it| it.hook == pair[0].name);
        let first = executions.iter().position(|it| it.hook == pair[1].name);
        ensure!(
            !is_cluster || last < first,
            "{} before {}: {executions:#?}",
            pair[0].name,
            pair[1].name
        );
    }
    Ok(())
}

/// Everything that was ever seen in the status of the cluster and its machines.
#[derive(Debug, Default)]
struct Seen {
    conditions: Vec<Condition>,
    hooks: BTreeMap<(String, String, String), HookStatus>,
}

impl Seen {
    fn add(&mut self, conditions: Vec<Condition>, hooks: Vec<HookStatus>) {
        self.conditions.extend(conditions);
        for hook in hooks {
            let key = (
                hook.name.clone(),
                hook.machine.clone(),
                hook.attempt.clone(),
            );
            self.hooks.insert(key, hook);
        }
    }
}

/// Collects statuses while something is done.
async fn observe<T>(
    up: &Up,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Seen> {
    let mut seen = Seen::default();
    let mut clusters = std::pin::pin!(watcher(up.clusters(), Config::default()));
    let mut machines = std::pin::pin!(watcher(up.machines(), Config::default()));
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            event = clusters.next() => {
                // Watchers retry after errors.
                if let Some(Ok(Event::Apply(cluster) | Event::InitApply(cluster))) = event {
                    let status = cluster.status.unwrap_or_default();
                    seen.add(status.conditions, status.hooks);
                }
            }
            event = machines.next() => {
                // Watchers retry after errors.
                if let Some(Ok(Event::Apply(machine) | Event::InitApply(machine))) = event {
                    let status = machine.status.unwrap_or_default();
                    seen.add(status.conditions, status.hooks);
                }
            }
            done = &mut work => {
                done?;
                return Ok(seen);
            }
        }
    }
}

/// Checks that the failure and the success of a hook were recorded with exit code and output, and shown.
fn check_recorded(hook: &Hook, seen: &Seen) -> anyhow::Result<()> {
    let is_retrying = |condition: &Condition| {
        let message = format!("{} exited with code 3: {} is broken", hook.name, hook.name);
        condition.kind == hook.step
            && condition.reason == "Retrying"
            && condition.message.contains(&message)
    };
    ensure!(
        seen.conditions.iter().any(is_retrying),
        "{}: {:#?}",
        hook.name,
        seen.conditions
    );
    let recorded = seen.hooks.values().filter(|it| it.name == hook.name);
    let recorded: Vec<&HookStatus> = recorded.collect();
    for (code, text) in [(3, "is broken"), (0, "works on")] {
        let is_recorded = |it: &&HookStatus| {
            it.exit_code == Some(code) && it.output.contains(text) && !it.script_digest.is_empty()
        };
        ensure!(
            recorded.iter().any(is_recorded),
            "{} {code}: {recorded:#?}",
            hook.name
        );
    }
    Ok(())
}

#[tokio::test]
async fn each_hook_of_create_upgrade_and_delete_is_retried_and_recorded() -> anyhow::Result<()> {
    let machines = machines(2)?;
    let context = Up::context()?;
    write_script(context.directory(), "hook", SCRIPT)?;
    let folder = context.directory().display().to_string();
    let up = Up::start(context, &["--files", &folder]).await?;
    let names: Vec<&str> = Hook::of_clusters().map(|hook| hook.name).collect();
    assert_eq!(names.len(), 10);
    let mut object = cluster("a", &addresses(&machines), &names);
    object["metadata"]["labels"] = serde_json::json!({"text": "a-b"});
    let mut before = 0;
    for flow in [FlowName::Create, FlowName::Upgrade, FlowName::Delete] {
        let work = async {
            match flow {
                FlowName::Create => {
                    up.create(object.clone()).await?;
                    up.until_running("a").await.map(drop)
                }
                FlowName::Upgrade => {
                    up.run(&["cluster", "upgrade", "a", "1.1.0"])?;
                    up.until_running("a").await.map(drop)
                }
                _ => {
                    up.run(&["cluster", "delete", "a"])?;
                    up.until_deleted("a").await
                }
            }
        };
        let seen = Box::pin(observe(&up, work)).await?;
        let all = executions(&machines)?;
        let new = &all[before..];
        let hooks = hooks_of(flow);
        for hook in &hooks {
            check_hook(hook, new, 2)?;
            check_recorded(hook, &seen)?;
        }
        check_order(&hooks, new)?;
        let expected: usize = hooks
            .iter()
            .map(|hook| {
                if hook.scope == HookScope::Cluster {
                    2
                } else {
                    4
                }
            })
            .sum();
        ensure!(new.len() == expected, "{flow:?}: {new:#?}");
        before = all.len();
    }
    for machine in machines.machines() {
        ensure!(
            !machine.stand_in.path("/opt/hooks/hook").exists(),
            "files are removed"
        );
    }
    Ok(())
}
