//! The rule of each field. The code, the conflicts and the table in `docs/expansion-packages.md` come from it.

use outrigger_gostd::semver::{Constraint, Version};

/// What a key of `expansion.yaml` does to a field of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRule {
    /// The key of `expansion.yaml`.
    pub key: &'static str,
    pub target: Target,
    pub how: How,
}

/// A field of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Of the cluster's spec. Fields are separated by dots.
    Cluster(&'static str),
    /// Of `Config` in `tke.json`.
    Config(&'static str),
}

/// How a field is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    AppendUnique,
    ByDestination,
    SameOrConflict,
    BaseWins,
    Satisfied,
}

impl How {
    /// The rule in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::AppendUnique => "appended, unless the list has it",
            Self::ByDestination => "appended; another source for the same `dst` is a conflict",
            Self::SameOrConflict => "added by key; another value for the same key is a conflict",
            Self::BaseWins => {
                "added by key; the value of the configuration wins, which is reported"
            }
            Self::Satisfied => "compared; a version outside of the range is a conflict",
        }
    }
}

const fn rule(key: &'static str, target: Target, how: How) -> FieldRule {
    FieldRule { key, target, how }
}

/// All rules.
pub const RULES: &[FieldRule] = &[
    rule(
        "requires.kubernetes",
        Target::Cluster("version"),
        How::Satisfied,
    ),
    rule(
        "files",
        Target::Cluster("features.files"),
        How::ByDestination,
    ),
    rule(
        "files[].hook",
        Target::Cluster("features.hooks"),
        How::SameOrConflict,
    ),
    rule(
        "installer_skip_steps",
        Target::Config("skipSteps"),
        How::AppendUnique,
    ),
    rule(
        "create_cluster_skip_conditions",
        Target::Cluster("features.skipConditions"),
        How::AppendUnique,
    ),
    rule(
        "create_cluster_delegate_conditions",
        Target::Cluster("features.delegateConditions"),
        How::AppendUnique,
    ),
    rule(
        "create_cluster_extra_args.dockerExtraArgs",
        Target::Cluster("dockerExtraArgs"),
        How::BaseWins,
    ),
    rule(
        "create_cluster_extra_args.kubeletExtraArgs",
        Target::Cluster("kubeletExtraArgs"),
        How::BaseWins,
    ),
    rule(
        "create_cluster_extra_args.apiServerExtraArgs",
        Target::Cluster("apiServerExtraArgs"),
        How::BaseWins,
    ),
    rule(
        "create_cluster_extra_args.controllerManagerExtraArgs",
        Target::Cluster("controllerManagerExtraArgs"),
        How::BaseWins,
    ),
    rule(
        "create_cluster_extra_args.schedulerExtraArgs",
        Target::Cluster("schedulerExtraArgs"),
        How::BaseWins,
    ),
];

/// Whether a version is in a range, as Helm compares them.
pub(super) fn is_in_range(version: &str, range: &str) -> bool {
    let (Ok(version), Ok(constraint)) = (Version::parse(version), Constraint::parse(range)) else {
        return false;
    };
    constraint.check(&version)
}
