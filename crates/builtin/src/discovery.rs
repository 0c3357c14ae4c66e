//! Kinds of the group `discovery.k8s.io`.

pub(crate) mod endpoint_slice;
