//! Images and registries: the OCI conformance suite, benchmarks beside skopeo and Debian's registry, kills and faults.

pub(crate) mod attack;
pub(crate) mod bench;
pub(crate) mod crash;
pub(crate) mod finder;
mod proxy;
pub(crate) mod registries;
pub(crate) mod suite;
mod throughput;
mod workload;
