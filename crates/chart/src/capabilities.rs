//! `.Capabilities`: the Kubernetes version, the API versions and the Helm version.

mod api_versions;
pub(crate) mod object;

use crate::profile::Profile;
use crate::version::{self, VersionError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub kube_version: KubeVersion,
    pub api_versions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeVersion {
    /// With the prefix `v`; Helm 4 keeps the suffix of a vendor.
    pub version: String,
    /// The version that version ranges are checked against.
    pub normalized: String,
    pub major: String,
    pub minor: String,
}

/// A `--kube-version` that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid kube version '{text}': {reason}")]
pub struct InvalidKubeVersion {
    text: String,
    reason: VersionError,
}

impl Capabilities {
    /// The capabilities that Helm assumes without a cluster.
    pub fn offline(profile: Profile) -> Self {
        let minor = profile.rules().kube_minor;
        let version = format!("v1.{minor}.0");
        Self {
            kube_version: KubeVersion {
                normalized: version.clone(),
                version,
                major: "1".to_owned(),
                minor: minor.to_string(),
            },
            api_versions: api_versions::of(profile).map(ToOwned::to_owned).collect(),
        }
    }
}

impl KubeVersion {
    /// Parses a `--kube-version`, or the git version of a server.
    pub fn parse(text: &str, profile: Profile) -> Result<Self, InvalidKubeVersion> {
        let parsed = if profile.rules().kube_version_keeps_suffix {
            parse_generic(text)
        } else {
            version::parse(text, profile).map(|(version, major, minor)| {
                let version = format!("v{version}");
                Self {
                    normalized: version.clone(),
                    version,
                    major: major.to_string(),
                    minor: minor.to_string(),
                }
            })
        };
        parsed.map_err(|reason| InvalidKubeVersion {
            text: text.to_owned(),
            reason,
        })
    }
}

/// apimachinery's `ParseGeneric`: at least two numbers, and any suffix.
fn parse_generic(text: &str) -> Result<KubeVersion, VersionError> {
    let quoted = outrigger_gostd::strconv::quote(text);
    let trimmed = text.trim_start();
    let digits = trimmed.strip_prefix('v').unwrap_or(trimmed);
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = digits;
    loop {
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            break;
        }
        parts.push(&rest[..length]);
        match rest[length..].strip_prefix('.') {
            Some(after) if after.starts_with(|c: char| c.is_ascii_digit()) => rest = after,
            _ => break,
        }
    }
    if parts.is_empty() {
        return Err(VersionError(format!("could not parse {quoted} as version")));
    }
    if parts.len() < 2 {
        return Err(VersionError(format!("illegal version string {quoted}")));
    }
    if parts[0].starts_with('0') && parts[0] != "0" {
        let part = outrigger_gostd::strconv::quote(parts[0]);
        return Err(VersionError(format!(
            "illegal zero-prefixed version component {part} in {quoted}"
        )));
    }
    let mut numbers = Vec::new();
    for part in parts {
        let number: u64 = part.parse().map_err(|_| {
            let part = outrigger_gostd::strconv::quote(part);
            VersionError(format!("illegal non-numeric version component {part} in {quoted}: strconv.ParseUint: parsing {part}: value out of range"))
        })?;
        numbers.push(number.to_string());
    }
    let version = if text.starts_with('v') {
        text.to_owned()
    } else {
        format!("v{text}")
    };
    Ok(KubeVersion {
        version,
        normalized: format!("v{}", numbers.join(".")),
        major: numbers[0].clone(),
        minor: numbers[1].clone(),
    })
}
