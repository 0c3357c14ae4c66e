//! `EnsureSysctl`: lets the kernel forward packets of pods.

use crate::provider::baremetal::work::Work;

pub(super) fn work() -> Work {
    let script = include_str!("../scripts/sysctl.sh");
    Work::new("let the kernel forward packets", script)
}
