//! The actions that a plan can perform on a release.

use std::fmt;

use outrigger_chart::manifest::hook::Event;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// No revision has been deployed yet.
    Install,
    Upgrade,
    Rollback,
    /// Corrects drift in the deployed revision; makes no new revision.
    Repair,
    /// The deployed revision is up to date.
    Nothing,
}

impl Action {
    /// The hook events before and after the objects are applied.
    pub(crate) fn hooks(self) -> Option<(Event, Event)> {
        Some(match self {
            Self::Install => (Event::PreInstall, Event::PostInstall),
            Self::Upgrade => (Event::PreUpgrade, Event::PostUpgrade),
            Self::Rollback => (Event::PreRollback, Event::PostRollback),
            Self::Repair | Self::Nothing => return None,
        })
    }

    pub(crate) fn makes_revision(self) -> bool {
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
