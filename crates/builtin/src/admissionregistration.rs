//! Kinds of the group `admissionregistration.k8s.io`.

pub(crate) mod validating_admission_policy;
pub(crate) mod webhook_configuration;
