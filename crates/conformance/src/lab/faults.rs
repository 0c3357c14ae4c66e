//! Faults of a flow: the controller is killed, a machine loses its power, and another one its network.

use std::time::{Duration, Instant};

use outrigger_testing::lab::LabMachine;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The controller is killed, and another one starts.
    KillController,
    /// A machine is off for a while.
    PowerCycle { machine: usize, off: Duration },
    /// A machine has no network for a while.
    CutCable { machine: usize, off: Duration },
}

/// Faults with the time after the beginning of a flow, in their order.
pub(super) type Plan = Vec<(Duration, Fault)>;

/// Kills at most.
const MAX_KILLS: usize = 4;

/// Some kills, one power cycle and one cut cable, at random moments of a flow that takes this long without faults.
pub(super) fn plan(machines: usize, flow: Duration) -> Plan {
    let moment = || flow.mul_f64(fastrand::f64());
    let seconds = || Duration::from_millis(fastrand::u64(500..8000));
    let kills = 1..=fastrand::usize(1..=MAX_KILLS);
    let mut plan: Plan = kills.map(|_| (moment(), Fault::KillController)).collect();
    let machine = fastrand::usize(..machines);
    plan.push((
        moment(),
        Fault::PowerCycle {
            machine,
            off: seconds(),
        },
    ));
    let machine = fastrand::usize(..machines);
    plan.push((
        moment(),
        Fault::CutCable {
            machine,
            off: seconds(),
        },
    ));
    plan.sort_by_key(|(moment, _)| *moment);
    plan
}

/// How often a plan kills the controller.
pub(super) fn kills(plan: &Plan) -> usize {
    let faults = plan.iter();
    faults
        .filter(|(_, fault)| *fault == Fault::KillController)
        .count()
}

/// Injects faults. The controller is killed by its owner.
pub(super) async fn inject(
    plan: &Plan,
    machines: &[LabMachine],
    mut kill: impl AsyncFnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let start = Instant::now();
    for (moment, fault) in plan {
        tokio::time::sleep(moment.saturating_sub(start.elapsed())).await;
        match fault {
            Fault::KillController => kill().await?,
            Fault::PowerCycle { machine, off } => {
                machines[*machine].power_off()?;
                tokio::time::sleep(*off).await;
                machines[*machine].power_on()?;
            }
            Fault::CutCable { machine, off } => {
                machines[*machine].unplug()?;
                tokio::time::sleep(*off).await;
                machines[*machine].plug_in()?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_all_faults_within_the_flow_and_in_order() {
        let flow = Duration::from_mins(1);
        for _ in 0..100 {
            let plan = plan(3, flow);
            assert!(plan.is_sorted_by_key(|(moment, _)| *moment));
            assert!(plan.iter().all(|(moment, _)| *moment <= flow));
            let count = |is: fn(&Fault) -> bool| plan.iter().filter(|(_, it)| is(it)).count();
            assert_eq!(count(|it| matches!(it, Fault::PowerCycle { .. })), 1);
            assert_eq!(count(|it| matches!(it, Fault::CutCable { .. })), 1);
            assert!((1..=MAX_KILLS).contains(&kills(&plan)));
        }
    }
}
