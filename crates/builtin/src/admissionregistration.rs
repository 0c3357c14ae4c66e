//! Kinds of the group `admissionregistration.k8s.io`.

pub mod expression;
pub(crate) mod mutating_admission_policy;
pub(crate) mod validating_admission_policy;
pub(crate) mod webhook_configuration;
