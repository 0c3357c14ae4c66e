//! `EnsureKubeadmInitPhaseWaitControlPlane`: starts kubelet, and waits until the API server is ready.

use crate::provider::baremetal::work::Work;

pub(super) fn work() -> Work {
    let script = include_str!("../scripts/wait_control_plane.sh");
    Work::new("start the control plane", script)
}
