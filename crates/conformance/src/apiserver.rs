//! The embedded Kubernetes API server next to a real kube-apiserver.

pub(crate) mod attack;
pub(crate) mod bench;
pub(crate) mod cases;
pub(crate) mod clients;
pub(crate) mod crash;

/// The path of the objects that the benchmark, the crash test and the attacks write.
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
