//! What is done to a release.

use std::fmt;

use outrigger_chart::manifest::hook::Event;
use serde::{Deserialize, Serialize};

/// What is done to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// No revision of it was ever deployed.
    Install,
    Upgrade,
    Rollback,
    /// The revision stays; objects that were changed or removed by others are put right.
    Repair,
    /// All is as it should be.
    Nothing,
}

impl Action {
    /// The hooks that run before and after objects are applied.
    pub(crate) fn hooks(self) -> Option<(Event, Event)> {
        Some(match self {
            Self::Install => (Event::PreInstall, Event::PostInstall),
            Self::Upgrade => (Event::PreUpgrade, Event::PostUpgrade),
            Self::Rollback => (Event::PreRollback, Event::PostRollback),
            Self::Repair | Self::Nothing => return None,
        })
    }

    /// Whether a revision is recorded.
    pub(crate) fn is_recorded(self) -> bool {
        self.hooks().is_some()
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Rollback => "rollback",
            Self::Repair => "repair",
            Self::Nothing => "nothing",
        })
    }
}
