//! Warnings about deprecated and removed built-in APIs.

use std::fmt::Write;

use super::deprecated_apis::{ROWS, applies_to};
use crate::capabilities::KubeVersion;
use crate::profile::Profile;

/// The warning about an object whose API is deprecated in this version of Kubernetes.
pub(super) fn warning(
    api_version: &str,
    kind: &str,
    kube: &KubeVersion,
    profile: Profile,
) -> Option<String> {
    let helm = match profile {
        Profile::Helm3 => 3,
        Profile::Helm4 => 4,
    };
    let row = ROWS
        .iter()
        .find(|row| row.0 == api_version && row.1 == kind && applies_to(row, helm))?;
    let (_, _, deprecated, removed, replacement, _) = *row;
    let (major, minor): (u32, u32) = (kube.major.parse().ok()?, kube.minor.parse().ok()?);
    if (major, minor) != (0, 0) && (1, deprecated) > (major, minor) {
        return None;
    }
    let mut text = format!("{api_version} {kind} is deprecated in v1.{deprecated}+");
    if removed != 0 {
        let _ = write!(text, ", unavailable in v1.{removed}+");
    }
    if !replacement.is_empty() {
        let _ = write!(text, "; use {replacement}");
    }
    Some(text)
}
