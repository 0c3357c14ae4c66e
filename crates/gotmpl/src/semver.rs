//! Semantic versions and version ranges by the rules of Masterminds semver v3, which Helm uses everywhere.
//!
//! Versions are read leniently (`v1.2` is `1.2.0`) unless asked for otherwise. A prerelease satisfies only a range
//! that mentions a prerelease itself; how far that mention reaches depends on the [`Edition`].

mod constraint;
mod version;

#[cfg(test)]
mod tests;

pub use constraint::Constraint;
pub use version::{Error, Version};

/// Which release of the library is imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Edition {
    /// v3.3: each comparison decides for itself whether prereleases count (Helm 3.17).
    V3_3,
    /// v3.5: one comparison with a prerelease admits them for its whole group; other error texts, and limits
    /// on the length of the input (Helm 4.2).
    #[default]
    V3_5,
}
