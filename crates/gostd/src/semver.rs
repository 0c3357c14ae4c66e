//! `github.com/Masterminds/semver/v3`: the versions and constraints of Helm and Sprig.
//!
//! [`Version::parse`] is `NewVersion`, which accepts `v1.2` for `1.2.0`; [`Version::parse_strict`] is
//! `StrictNewVersion`. A prerelease satisfies only constraints that contain a prerelease; whether that is decided for each
//! comparison or for each group depends on the [`Edition`].

mod constraint;
mod version;

#[cfg(test)]
mod tests;

pub use constraint::{Constraint, ConstraintError};
pub use version::{Error, Version};

/// The release of the library whose behaviour applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Edition {
    /// v3.3 (Helm 3.17): each comparison decides whether it accepts prereleases.
    V3_3,
    /// v3.5 (Helm 4.2): a comparison with a prerelease makes its group accept prereleases. Error messages are lowercase,
    /// and the length of the input is limited.
    #[default]
    V3_5,
}
