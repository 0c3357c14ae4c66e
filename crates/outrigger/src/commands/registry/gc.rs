//! `outrigger registry gc`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use outrigger_api::duration;
use outrigger_registry::{Collected, Content, GcOptions, Kept, Store, StoreOptions};
use serde::Serialize;

use crate::arguments::{Output, OutputFlag};
use crate::commands::size::Size;
use crate::printer::{Printer, Row};
use crate::report::note;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger registry gc --data ./registry --dry-run        Show what would be removed, and what is kept and why
  outrigger registry gc --data ./registry                  Remove what no manifest refers to
  outrigger registry gc --data ./registry --untagged       Remove manifests without a tag, too
  outrigger registry gc --data ./registry --grace 0s -o json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the registry
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Also remove manifests that no tag reaches
    #[arg(long)]
    untagged: bool,
    /// Only report what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Keep what was used within this time, such as 30m; a push that takes longer may have to be repeated
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_grace)]
    grace: Duration,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, thiserror::Error)]
#[error("expected a duration such as 30m, 1h or 0s, or a number of seconds")]
struct InvalidGrace;

fn parse_grace(text: &str) -> Result<Duration, InvalidGrace> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    seconds
        .or_else(|| duration::parse(text))
        .ok_or(InvalidGrace)
}

/// Counts of content, as JSON has them.
#[derive(Debug, Serialize)]
struct Counts {
    manifests: u64,
    blobs: u64,
    uploads: u64,
    bytes: u64,
}

impl From<Content> for Counts {
    fn from(content: Content) -> Self {
        Self {
            manifests: content.manifests,
            blobs: content.blobs,
            uploads: content.uploads,
            bytes: content.bytes,
        }
    }
}

#[derive(Debug, Serialize)]
struct KeptCounts {
    /// A tag refers to it.
    tagged: Counts,
    /// Only manifests without a tag refer to it.
    untagged: Counts,
    /// It was used within the grace period.
    recent: Counts,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    dry_run: bool,
    removed: Counts,
    kept: KeptCounts,
}

/// A line of the table.
#[derive(Debug, Serialize)]
struct Line {
    result: &'static str,
    reason: &'static str,
    counts: Counts,
}

impl Row for Line {
    const HEADERS: &'static [&'static str] =
        &["RESULT", "MANIFESTS", "BLOBS", "UPLOADS", "SIZE", "REASON"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.result.to_owned(),
            self.counts.manifests.to_string(),
            self.counts.blobs.to_string(),
            self.counts.uploads.to_string(),
            Size::from(self.counts.bytes).to_string(),
            self.reason.to_owned(),
        ]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    super::check::ensure_store(&args.data)?;
    let store = Store::attach(&args.data, StoreOptions::default())?;
    let collected = store.collect(GcOptions {
        dry_run: args.dry_run,
        untagged: args.untagged,
        grace: Some(args.grace),
    })?;
    let Collected { removed, kept } = collected;
    let Kept {
        tagged,
        untagged,
        recent,
    } = kept;
    if args.output.output == Output::Table {
        printer.list(Output::Table, &lines(collected, args.dry_run))?;
        if args.dry_run {
            note("nothing was removed, because of --dry-run");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let summary = Summary {
        dry_run: args.dry_run,
        removed: removed.into(),
        kept: KeptCounts {
            tagged: tagged.into(),
            untagged: untagged.into(),
            recent: recent.into(),
        },
    };
    printer.value(args.output.output, &summary)?;
    Ok(ExitCode::SUCCESS)
}

/// What was removed, and what was kept for each reason that applies.
fn lines(collected: Collected, dry_run: bool) -> Vec<Line> {
    let Kept {
        tagged,
        untagged,
        recent,
    } = collected.kept;
    let line = |result, content: Content, reason| Line {
        result,
        reason,
        counts: content.into(),
    };
    let removed = if dry_run { "would remove" } else { "removed" };
    let kept = [
        (tagged, "a tag refers to it"),
        (
            untagged,
            "only manifests without a tag refer to it; --untagged removes them",
        ),
        (
            recent,
            "used within the grace period; a shorter --grace removes it",
        ),
    ];
    let applies = |content: &Content| *content != Content::default();
    let kept = kept.into_iter().filter(|(content, _)| applies(content));
    let kept = kept.map(|(content, reason)| line("kept", content, reason));
    std::iter::once(line(removed, collected.removed, "nothing refers to it"))
        .chain(kept)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_period_is_a_duration_or_seconds() {
        for (text, seconds) in [("90", 90), ("0", 0), ("0s", 0), ("30m", 1800), ("1h", 3600)] {
            assert_eq!(parse_grace(text).unwrap().as_secs(), seconds, "{text}");
        }
        assert!(parse_grace("soon").is_err());
    }

    #[test]
    fn each_reason_to_keep_content_has_a_line() {
        let content = Content {
            blobs: 2,
            bytes: 2048,
            ..Content::default()
        };
        let collected = Collected {
            removed: Content::default(),
            kept: Kept {
                tagged: content,
                untagged: Content::default(),
                recent: content,
            },
        };
        let cells: Vec<String> = lines(collected, true)
            .iter()
            .map(|line| line.cells().join(" | "))
            .collect();
        assert_eq!(
            cells,
            [
                "would remove | 0 | 0 | 0 | 0 B | nothing refers to it",
                "kept | 0 | 2 | 0 | 2.0 KiB | a tag refers to it",
                "kept | 0 | 2 | 0 | 2.0 KiB | used within the grace period; a shorter --grace removes it",
            ]
        );
    }
}
