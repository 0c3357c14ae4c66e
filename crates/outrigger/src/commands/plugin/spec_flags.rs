//! What a user wants changed about a plugin: another version, another place, other values.

use std::path::Path;

use outrigger_api::plugin::Plugin;
use outrigger_api::values::merge_maps;
use serde_json::{Map, Value};

use super::{repo_path, values};
use crate::commands::chart::values::ValuesFlags;

/// The flags that say it.
#[derive(Debug, clap::Args)]
pub(crate) struct WishFlags {
    /// An exact version, or a range of them
    #[arg(long, value_name = "RANGE")]
    version: Option<String>,
    /// Whatever version is the newest, now and later
    #[arg(long, conflicts_with = "version")]
    newest: bool,
    /// Take the chart from another place
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    #[command(flatten)]
    values: ValuesFlags,
}

/// The same with files read.
#[derive(Debug)]
pub(super) struct Wish<'a> {
    flags: &'a WishFlags,
    values: Map<String, Value>,
}

impl WishFlags {
    pub(super) fn read(&self) -> anyhow::Result<Wish<'_>> {
        Ok(Wish {
            flags: self,
            values: values::from_flags(&self.values)?,
        })
    }

    /// Whether another chart is asked for.
    pub(super) fn is_other_chart(&self) -> bool {
        self.version.is_some() || self.newest || self.repo.is_some()
    }
}

impl Wish<'_> {
    /// Changes the plugin. Paths begin at `folder`.
    pub(super) fn apply(&self, plugin: &mut Plugin, folder: &Path) {
        if self.flags.newest {
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
