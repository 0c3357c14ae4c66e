//! A plan as a table.

use std::fmt;

use super::{Change, Plan, Step};
use crate::action::Action;

/// Fields that are printed per object; further ones are only counted.
const MAX_FIELDS: usize = 8;

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Unchanged => "unchanged",
            Self::Adopt => "adopt",
            Self::Prune => "prune",
            Self::Keep => "keep",
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Action::Nothing => write!(
                f,
                "no changes: {} stays at revision {}",
                self.release, self.revision
            )?,
            Action::Install => write!(f, "install {} as revision {}", self.release, self.revision)?,
            Action::Repair => write!(f, "repair {} at revision {}", self.release, self.revision)?,
            action => write!(f, "{action} {} to revision {}", self.release, self.revision)?,
        }
        writeln!(f, " ({} {})", self.chart.name, self.chart.version)?;
        for step in self.crds.iter().chain(&self.objects) {
            line(f, step)?;
        }
        for hook in &self.hooks {
            writeln!(f, "  {:<10} {}/{}", hook.event, hook.kind, hook.name)?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    write!(f, "  {:<10} {}", step.change, step.object)?;
    if let Some(reason) = &step.reason {
        write!(f, " ({reason})")?;
    }
    writeln!(f)?;
    for field in step.fields.iter().take(MAX_FIELDS) {
        let text = |value: &Option<serde_json::Value>| {
            value
                .as_ref()
                .map_or_else(|| "(unset)".to_owned(), ToString::to_string)
        };
        writeln!(
            f,
            "             {}: {} -> {}",
            field.path,
            text(&field.before),
            text(&field.after)
        )?;
    }
    if step.fields.len() > MAX_FIELDS {
        let more = step.fields.len() - MAX_FIELDS;
        writeln!(f, "             and {more} more fields")?;
    }
    Ok(())
}
