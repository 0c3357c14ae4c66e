//! Kinds of the group `storage.k8s.io`.

pub(crate) mod storage_class;
