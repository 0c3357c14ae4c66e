//! `EnsureKernelModule`: loads kernel modules.

use crate::provider::baremetal::work::Work;

pub(super) fn work() -> Work {
    let script = include_str!("../scripts/kernel_modules.sh");
    Work::new("load the modules overlay and br_netfilter", script)
}
