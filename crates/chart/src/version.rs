//! Chart versions and version ranges, with the Masterminds/semver release of each Helm version.

use outrigger_gostd::semver::{Constraint, Edition, Version};

use crate::profile::Profile;

fn edition(profile: Profile) -> Edition {
    match profile {
        Profile::Helm3 => Edition::V3_3,
        Profile::Helm4 => Edition::V3_5,
    }
}

/// Why a version or a range is invalid, with Helm's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VersionError(pub(crate) String);

/// Whether the text is a valid version.
pub(crate) fn is_valid(text: &str, profile: Profile) -> bool {
    Version::parse_in(text, edition(profile)).is_ok()
}

/// Whether the text is a version with all three parts and without a prefix.
pub(crate) fn is_strict(text: &str, profile: Profile) -> bool {
    Version::parse_strict_in(text, edition(profile)).is_ok()
}

/// Why the version does not satisfy the range; `None` if it does.
pub(crate) fn why_not(range: &str, version: &str, profile: Profile) -> Option<String> {
    let edition = edition(profile);
    let version = Version::parse_in(version, edition).ok()?;
    let range = Constraint::parse_in(range, edition).ok()?;
    range.validate(&version).err()?.into_iter().next()
}

/// Whether the version satisfies the range; false if either is invalid.
pub(crate) fn satisfies(range: &str, version: &str, profile: Profile) -> bool {
    let edition = edition(profile);
    let Ok(version) = Version::parse_in(version, edition) else {
        return false;
    };
    Constraint::parse_in(range, edition).is_ok_and(|range| range.check(&version))
}

/// The normalized version, and its major and minor number.
pub(crate) fn parse(text: &str, profile: Profile) -> Result<(String, u64, u64), VersionError> {
    let edition = edition(profile);
    Version::parse_in(text, edition)
        .map(|version| (version.to_string(), version.major, version.minor))
        .map_err(|error| VersionError(error.message(edition)))
}

/// Whether the text is a valid version range.
pub(crate) fn is_range(text: &str, profile: Profile) -> bool {
    check_range(text, profile).is_ok()
}

pub(crate) fn check_range(text: &str, profile: Profile) -> Result<(), VersionError> {
    Constraint::parse_in(text, edition(profile))
        .map(drop)
        .map_err(|error| VersionError(error.to_string()))
}
