//! `EnsureStopControlPlane`: stops the static pods of a control plane.

use crate::provider::baremetal::work::Work;

pub(super) fn work() -> Work {
    let script = include_str!("../scripts/stop_control_plane.sh");
    Work::new("stop the control plane", script)
}
