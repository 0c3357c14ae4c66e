//! How a release is worked on.

use std::time::Duration;

use jiff::Timestamp;

use crate::health::Rules;

/// What to do with the definitions in a chart's folder `crds`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Crds {
    /// Create those that are missing, leave those that are there.
    #[default]
    Create,
    /// Also bring those that are there up to date.
    Replace,
    /// Leave them out.
    Skip,
}

/// How a release is worked on. The defaults are those of `helm install` with `--wait`.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that Helm has too"
)]
pub struct Options {
    /// How long the whole may take, hooks and waiting included.
    pub timeout: Duration,
    /// Whether it is done only when all objects are healthy.
    pub wait: bool,
    /// Whether a failed upgrade goes back to the last good revision, and a failed installation is removed.
    pub rollback_on_failure: bool,
    /// How many revisions are kept; all if it is 0.
    pub history: usize,
    pub crds: Crds,
    /// Whether objects are taken that exist and belong to nobody or to somebody else.
    pub take_ownership: bool,
    /// Whether fields are taken that another manager set.
    pub force: bool,
    /// Whether hooks run.
    pub hooks: bool,
    /// Whether the namespace of the release is made if it is missing.
    pub create_namespace: bool,
    /// When objects are healthy, besides the rules that are built in.
    pub health: Rules,
    /// Stands in the record instead of "Install complete" and the like.
    pub description: Option<String>,
    /// Whether records stay after the release was removed.
    pub keep_history: bool,
    /// Tells the time of day.
    pub now: fn() -> Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(5),
            wait: true,
            rollback_on_failure: false,
            history: 10,
            crds: Crds::default(),
            take_ownership: false,
            force: false,
            hooks: true,
            create_namespace: false,
            health: Rules::default(),
            description: None,
            keep_history: false,
            now: Timestamp::now,
        }
    }
}
