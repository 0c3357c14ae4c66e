//! Chart versions and version ranges, by the edition of the rules that each Helm carries.

use outrigger_gostd::semver::{Constraint, Edition, Version};

use crate::profile::Profile;

fn edition(profile: Profile) -> Edition {
    match profile {
        Profile::Helm3 => Edition::V3_3,
        Profile::Helm4 => Edition::V3_5,
    }
}

/// Whether the text is a version at all.
pub(crate) fn is_valid(text: &str, profile: Profile) -> bool {
    Version::parse_in(text, edition(profile)).is_ok()
}

/// Whether it is a version with all three parts and nothing before them.
pub(crate) fn is_strict(text: &str, profile: Profile) -> bool {
    Version::parse_strict_in(text, edition(profile)).is_ok()
}

/// Why the version is not in the range; none if it is.
pub(crate) fn why_not(range: &str, version: &str, profile: Profile) -> Option<String> {
    let edition = edition(profile);
    let version = Version::parse_in(version, edition).ok()?;
    let range = Constraint::parse_in(range, edition).ok()?;
    range.validate(&version).err()?.into_iter().next()
}

/// Whether the version is in the range; false if either cannot be read.
pub(crate) fn satisfies(range: &str, version: &str, profile: Profile) -> bool {
    let edition = edition(profile);
    let Ok(version) = Version::parse_in(version, edition) else {
        return false;
    };
    Constraint::parse_in(range, edition).is_ok_and(|range| range.check(&version))
}

/// The normal form with its major and minor number, or Helm's words for what is wrong.
pub(crate) fn describe(text: &str, profile: Profile) -> Result<(String, u64, u64), String> {
    let edition = edition(profile);
    Version::parse_in(text, edition)
        .map(|version| (version.to_string(), version.major, version.minor))
        .map_err(|error| error.message(edition))
}

/// Whether the text is a version range at all.
pub(crate) fn is_range(text: &str, profile: Profile) -> bool {
    check_range(text, profile).is_ok()
}

/// Helm's words for what is wrong with a range.
pub(crate) fn check_range(text: &str, profile: Profile) -> Result<(), String> {
    Constraint::parse_in(text, edition(profile))
        .map(drop)
        .map_err(|error| error.to_string())
}
