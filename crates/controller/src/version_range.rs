//! Checks whether an installed version satisfies the range that a dependent requires.
//!
//! Versions and ranges follow Helm. A version that does not parse satisfies no range. A pre-release counts as the
//! release it precedes (`1.3.0-rc.1` satisfies `>=1.3`), unless the range itself names a pre-release: then it is
//! compared exactly.

use outrigger_gostd::semver::{Constraint, ConstraintError, Edition, Version};

/// A range that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{range}\" is not a version range: {reason}")]
pub(crate) struct InvalidRange {
    range: String,
    reason: ConstraintError,
}

/// Whether `version` is in `range`. False if `version` does not parse.
pub(crate) fn satisfies(version: &str, range: &str) -> Result<bool, InvalidRange> {
    let constraint = Constraint::parse(range).map_err(|reason| InvalidRange {
        range: range.to_owned(),
        reason,
    })?;
    let Ok(version) = Version::parse(version) else {
        return Ok(false);
    };
    if version.prerelease().is_empty() || names_prerelease(range) {
        return Ok(constraint.check(&version));
    }
    let release = version.with_prerelease("", Edition::default());
    Ok(release.is_ok_and(|release| constraint.check(&release)))
}

/// A hyphen right after a version part starts a pre-release; one between spaces is a hyphen range.
fn names_prerelease(range: &str) -> bool {
    let bytes = range.as_bytes();
    bytes
        .windows(2)
        .any(|pair| pair[1] == b'-' && pair[0].is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: &str, range: &str, expected: bool) {
        assert_eq!(
            satisfies(version, range),
            Ok(expected),
            "{version} in {range}"
        );
    }

    #[test]
    fn releases_are_compared_like_helm_does() {
        check("1.2.3", ">=1.2, <2", true);
        check("v1.2.3", "^1.0.0", true);
        check("2.0.0", ">=1.2, <2", false);
        check("1.5.0", "1.2 - 1.6", true);
        check("0.0.1", ">= 0.0.0", true);
    }

    #[test]
    fn a_prerelease_counts_as_the_release_it_precedes() {
        check("1.3.0-rc.1", ">=1.3.0", true);
        check("1.3.0-rc.1", ">=0.0.0", true);
        check("1.3.0-rc.1", ">1.3.0", false);
        check("2.0.0-alpha", "^1.0.0", false);
        check("1.5.0-rc.1", "1.2 - 1.6", true);
    }

    #[test]
    fn a_range_that_names_a_prerelease_is_exact() {
        check("1.3.0-rc.1", ">=1.3.0-rc.2", false);
        check("1.3.0-rc.3", ">=1.3.0-rc.2", true);
    }

    #[test]
    fn an_invalid_version_satisfies_nothing_and_an_invalid_range_is_an_error() {
        check("latest", ">=0.0.0", false);
        let error = satisfies("1.0.0", ">= one").unwrap_err().to_string();
        assert!(
            error.starts_with("\">= one\" is not a version range: "),
            "{error}"
        );
    }
}
