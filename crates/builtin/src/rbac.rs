//! Kinds of the group `rbac.authorization.k8s.io`.

pub(crate) mod role;
pub(crate) mod role_binding;
