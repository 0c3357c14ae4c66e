//! `EnsureStartKubelet`: enables the service of kubelet, which runs as soon as it is configured.

use crate::provider::baremetal::work::Work;

pub(super) fn work() -> Work {
    let script = include_str!("../scripts/start_kubelet.sh");
    Work::new("enable kubelet", script)
}
