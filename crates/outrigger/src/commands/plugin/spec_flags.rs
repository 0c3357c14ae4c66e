//! The flags that change the spec of a plugin: version, source and values.

use std::path::Path;

use outrigger_api::plugin::Plugin;
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
    #[command(flatten)]
    values: ValuesFlags,
}

/// The flags, and the values read from files.
#[derive(Debug)]
pub(super) struct SpecChange<'a> {
    flags: &'a SpecFlags,
    values: Map<String, Value>,
}

impl SpecFlags {
    pub(super) fn read(&self) -> anyhow::Result<SpecChange<'_>> {
        Ok(SpecChange {
            flags: self,
            values: values::from_flags(&self.values)?,
        })
    }

    /// Whether the flags change the version or the source.
    pub(super) fn changes_chart(&self) -> bool {
        self.version.is_some() || self.latest || self.repo.is_some()
    }
}

impl SpecChange<'_> {
    /// Changes the spec. Relative paths are resolved against `folder`.
    pub(super) fn apply(&self, plugin: &mut Plugin, folder: &Path) {
        if self.flags.latest {
            plugin.spec.version = None;
        }
        if let Some(version) = &self.flags.version {
            plugin.spec.version = Some(version.clone());
        }
        if let Some(repo) = &self.flags.repo {
            plugin.spec.repo = Some(repo_path::absolute(repo, folder));
        }
        merge_maps(&mut plugin.spec.values, self.values.clone());
    }
}
