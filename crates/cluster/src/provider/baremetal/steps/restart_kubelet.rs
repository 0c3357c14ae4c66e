//! `EnsureRestartKubelet`: restarts kubelet, which adds the node again if the cluster does not know it.

use crate::provider::baremetal::work::Work;

pub(super) fn work() -> Work {
    let script = include_str!("../scripts/restart_kubelet.sh");
    Work::new("restart kubelet", script)
}
