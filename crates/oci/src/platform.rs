//! Platforms of images, and which of them are chosen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bounded;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    pub architecture: String,
    pub os: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    #[serde(
        rename = "os.version",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub os_version: Option<String>,
    #[serde(
        rename = "os.features",
        default,
        deserialize_with = "bounded::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub os_features: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a platform; use OS/ARCHITECTURE[/VARIANT], such as linux/amd64")]
pub struct InvalidPlatform(String);

impl Platform {
    /// Whether an image for `other` is one for this platform. A variant that is not given matches all.
    pub fn matches(&self, other: &Self) -> bool {
        self.os == other.os
            && self.architecture == other.architecture
            && (self.variant.is_none() || self.variant() == other.variant())
    }

    /// The variant. Images for arm64 and arm need not name the one that all of them are for.
    fn variant(&self) -> Option<&str> {
        match (self.architecture.as_str(), self.variant.as_deref()) {
            ("arm64", None) => Some("v8"),
            ("arm", None) => Some("v7"),
            (_, variant) => variant,
        }
    }
}

impl FromStr for Platform {
    type Err = InvalidPlatform;

    fn from_str(text: &str) -> Result<Self, InvalidPlatform> {
        // As in Docker, the words are those of Go, which are in lower case.
        let lower = text.to_ascii_lowercase();
        let parts: Vec<&str> = lower.split('/').collect();
        let is_word = |part: &&str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        if !(2..=3).contains(&parts.len()) || !parts.iter().all(is_word) {
            return Err(InvalidPlatform(text.to_owned()));
        }
        let architecture = match parts[1] {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Ok(Self {
            os: parts[0].to_owned(),
            architecture: architecture.to_owned(),
            variant: parts.get(2).map(|variant| (*variant).to_owned()),
            os_version: None,
            os_features: Vec::new(),
        })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_without_a_variant_matches_all_variants() {
        let platform = |text: &str| text.parse::<Platform>().unwrap();
        assert!(platform("linux/arm").matches(&platform("linux/arm/v7")));
        assert!(!platform("linux/arm/v6").matches(&platform("linux/arm/v7")));
        assert_eq!(platform("Linux/x86_64").to_string(), "linux/amd64");
        assert!(platform("linux/x86_64").matches(&platform("linux/amd64")));
        assert!(platform("linux/arm64/v8").matches(&platform("linux/arm64")));
        assert!(platform("linux/arm/v7").matches(&platform("linux/arm")));
        assert!(!platform("linux/arm/v6").matches(&platform("linux/arm")));
        for text in ["", "linux", "linux/", "linux/a/b/c", "a b/c"] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
    }
}
