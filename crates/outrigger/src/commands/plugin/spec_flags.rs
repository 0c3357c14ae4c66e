//! The flags that change the spec of a plugin: version, source and values.

use std::path::Path;

use outrigger_api::plugin::{Conflicts, Plugin};
use outrigger_api::values::merge_maps;
use serde_json::{Map, Value};

use super::{repo_path, values};
use crate::commands::chart::values::ValuesFlags;

#[derive(Debug, clap::Args)]
pub(crate) struct SpecFlags {
    /// Chart version or version range
    #[arg(long, value_name = "RANGE")]
    version: Option<String>,
    /// Always use the latest version
    #[arg(long, conflicts_with = "version")]
    latest: bool,
    /// Source of the chart
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// What to do about fields that another field manager changed: take, keep or fail
    #[arg(long, value_name = "POLICY", value_parser = parse_conflicts)]
    conflicts: Option<Conflicts>,
    #[command(flatten)]
    values: ValuesFlags,
}

#[derive(Debug, thiserror::Error)]
#[error("expected take, keep or fail")]
pub(super) struct InvalidConflicts;

pub(super) fn parse_conflicts(text: &str) -> Result<Conflicts, InvalidConflicts> {
    match text {
        "take" => Ok(Conflicts::Take),
        "keep" => Ok(Conflicts::Keep),
        "fail" => Ok(Conflicts::Fail),
        _ => Err(InvalidConflicts),
    }
}

/// The flags, and the values read from files.
#[derive(Debug)]
pub(super) struct SpecChange<'a> {
    flags: &'a SpecFlags,
    values: Map<String, Value>,
}

impl SpecFlags {
    /// Reads the files of the flags. Relative paths are resolved against `directory`.
    pub(super) fn read(&self, directory: &Path) -> anyhow::Result<SpecChange<'_>> {
        let values = values::from_flags(&self.values)?;
        if let Some(repo) = &self.repo {
            repo_path::ensure_exists(repo, directory)?;
        }
        Ok(SpecChange {
            flags: self,
            values,
        })
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether the flags change more than values.
    pub(super) fn changes_chart(&self) -> bool {
        self.version.is_some() || self.latest || self.repo.is_some() || self.conflicts.is_some()
    }
}

impl SpecChange<'_> {
    /// Changes the spec. Relative paths are resolved against `directory`.
    pub(super) fn apply(&self, plugin: &mut Plugin, directory: &Path) {
        if self.flags.latest {
            plugin.spec.version = None;
        }
        if let Some(version) = &self.flags.version {
            plugin.spec.version = Some(version.clone());
        }
        if let Some(repo) = &self.flags.repo {
            plugin.spec.repo = Some(repo_path::absolute(repo, directory));
        }
        if let Some(conflicts) = self.flags.conflicts {
            plugin.spec.conflicts = conflicts;
        }
        merge_maps(&mut plugin.spec.values, self.values.clone());
    }
}
