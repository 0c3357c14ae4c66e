//! `EnsureStartContainerRuntime`: starts containerd.

use crate::provider::baremetal::work::Work;

pub(super) fn work() -> Work {
    let script = include_str!("../scripts/start_container_runtime.sh");
    Work::new("start containerd", script)
}
