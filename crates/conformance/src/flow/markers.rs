//! What hooks leave on the machines: a line when they begin and a line when they end.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use outrigger_api::hook::{Hook, HookScope};
use outrigger_api::step::{FlowName, steps};
use outrigger_testing::machines::Machines;

/// The file on each machine.
const FILE: &str = "/markers";

/// The script of all hooks.
pub(super) const SCRIPT: &str = "#!/bin/sh
echo \"$OUTRIGGER_HOOK begin $(date +%s%N)\" >>/markers
sleep 0.$(($$ % 4))
echo \"$OUTRIGGER_HOOK end $(date +%s%N)\" >>/markers
";

/// When a hook began and ended on a machine, in nanoseconds.
#[derive(Debug, Default, Clone)]
pub(super) struct Executions {
    begins: Vec<u128>,
    ends: Vec<u128>,
}

/// The executions by machine and hook.
pub(super) type Markers = BTreeMap<(usize, String), Executions>;

/// Reads and removes the markers of all machines.
pub(super) fn take(machines: &Machines) -> anyhow::Result<Markers> {
    let mut markers = Markers::new();
    for (index, machine) in machines.machines().iter().enumerate() {
        let path = machine.stand_in.path(FILE);
        let text = fs_err::read_to_string(&path).unwrap_or_default();
        if path.exists() {
            fs_err::remove_file(&path)?;
        }
        for line in text.lines() {
            let mut words = line.split(' ');
            let (hook, event) = words
                .next()
                .zip(words.next())
                .context("a marker is cut off")?;
            let time = words.next().unwrap_or_default().parse()?;
            let executions = markers.entry((index, hook.to_owned())).or_default();
            match event {
                "begin" => executions.begins.push(time),
                _ => executions.ends.push(time),
            }
        }
    }
    Ok(markers)
}

/// Checks that each hook of a flow ran once on each of its machines, in order, and no other hook did. Each reboot of a
/// machine may repeat one hook there.
pub(super) fn check(flow: FlowName, markers: &Markers, reboots: &[usize]) -> anyhow::Result<usize> {
    let mut expected = Vec::new();
    for step in steps(flow) {
        let Some(hook) = Hook::of_step(step.id) else {
            continue;
        };
        let machines = match hook.scope {
            HookScope::Cluster => 0..1,
            _ => 0..reboots.len(),
        };
        expected.extend(machines.map(|machine| (machine, hook)));
    }
    for (machine, hook) in &expected {
        let executions = markers.get(&(*machine, hook.name.to_owned())).cloned();
        let count = executions.unwrap_or_default().begins.len();
        let limit = 1 + reboots[*machine];
        ensure!(
            (1..=limit).contains(&count),
            "{} ran {count} times on machine {machine}, which rebooted {} times: {markers:#?}",
            hook.name,
            reboots[*machine]
        );
    }
    for (machine, name) in markers.keys() {
        let is_expected = expected
            .iter()
            .any(|(m, hook)| m == machine && hook.name == name);
        ensure!(
            is_expected,
            "{name} ran on machine {machine} in flow {}",
            flow.as_str()
        );
    }
    check_order(&expected, markers)?;
    Ok(markers
        .values()
        .map(|executions| executions.begins.len())
        .sum())
}

/// Hooks of the cluster begin after all earlier hooks ended, and later hooks begin after they ended. The same holds for
/// the hooks of one machine.
fn check_order(expected: &[(usize, &Hook)], markers: &Markers) -> anyhow::Result<()> {
    let times = |machine: usize, hook: &Hook| markers.get(&(machine, hook.name.to_owned()));
    for (position, (machine, hook)) in expected.iter().enumerate() {
        for (other_machine, later) in &expected[position + 1..] {
            let is_cluster = [hook.scope, later.scope].contains(&HookScope::Cluster);
            if hook.name == later.name || !(is_cluster || machine == other_machine) {
                continue;
            }
            let (first, second) = (times(*machine, hook), times(*other_machine, later));
            let end = first.and_then(|executions| executions.ends.iter().max());
            let begin = second.and_then(|executions| executions.begins.iter().min());
            ensure!(
                end.is_none() || begin.is_none() || end <= begin,
                "{} on machine {other_machine} began before {} on machine {machine} ended",
                later.name,
                hook.name
            );
        }
    }
    Ok(())
}
