//! What goes wrong while a flow runs.

use std::time::Duration;

use outrigger_testing::machines::Machines;

use super::crash::Controllers;

/// Faults of one round.
const MAX_FAULTS: usize = 4;

/// Injects random faults at random times. Returns how often each machine was rebooted.
pub(super) async fn inject(
    machines: &mut Machines,
    controllers: &mut Controllers,
) -> anyhow::Result<Vec<usize>> {
    let count = machines.machines().len();
    let mut reboots = vec![0; count];
    for _ in 0..fastrand::usize(1..=MAX_FAULTS) {
        pause(20..700).await;
        let machine = fastrand::usize(..count);
        match fastrand::u8(..8) {
            0..3 => controllers.kill_one().await?,
            3 => controllers.start_one()?,
            4..6 => machines.cut_connections(machine)?,
            6 => {
                machines.go_offline(machine)?;
                pause(100..2000).await;
                machines.come_back(machine)?;
            }
            _ => {
                machines.power_off(machine)?;
                pause(10..500).await;
                machines.power_on(machine)?;
                reboots[machine] += 1;
            }
        }
    }
    Ok(reboots)
}

/// Faults come at random times: the wait is not for anything.
async fn pause(milliseconds: std::ops::Range<u64>) {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(milliseconds))).await;
}
