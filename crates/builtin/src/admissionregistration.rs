//! Kinds of the group `admissionregistration.k8s.io`.

pub(crate) mod webhook_configuration;
