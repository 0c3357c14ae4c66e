//! The chart engine next to both Helm majors.

pub(crate) mod attack;
pub(crate) mod bench;
pub(crate) mod differential;
