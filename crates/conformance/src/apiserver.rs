//! The embedded Kubernetes API server next to a real kube-apiserver.

pub(crate) mod bench;
pub(crate) mod cases;
pub(crate) mod clients;
pub(crate) mod crash;
pub(crate) mod faults;

/// ConfigMaps are the load of the benchmark, the crash test and the faults.
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
