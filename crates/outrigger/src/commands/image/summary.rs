//! Runs copies, and prints what was copied, skipped and mounted.

use std::process::ExitCode;
use std::sync::Arc;

use outrigger_oci::{
    Client, Copied, Copier, Copy, CopyOptions, Lock, Platform, Progress, Source, Totals,
};
use serde::Serialize;

use super::progress;
use crate::arguments::Output;
use crate::commands::registry_flags::hinted;
use crate::commands::size::Size;
use crate::printer::{Printer, Row};
use crate::report::note;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CopyFlags {
    /// Platform to copy, such as linux/amd64; repeatable; all by default
    #[arg(long = "platform", value_name = "OS/ARCH[/VARIANT]")]
    platforms: Vec<Platform>,
    /// Do not copy signatures and other referrers
    #[arg(long)]
    no_referrers: bool,
    /// Images at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    parallel_images: usize,
    /// Blobs at a time, over all images
    #[arg(long, value_name = "NUMBER", default_value_t = 6)]
    parallel_blobs: usize,
}

impl CopyFlags {
    pub(super) fn options(&self) -> CopyOptions {
        CopyOptions {
            platforms: self.platforms.clone(),
            referrers: !self.no_referrers,
            images: self.parallel_images,
            blobs: self.parallel_blobs,
        }
    }
}

/// The result of one image.
#[derive(Debug, Serialize)]
struct ImageResult {
    source: String,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Row for ImageResult {
    const HEADERS: &'static [&'static str] = &["TARGET", "RESULT", "DIGEST"];

    fn cells(&self) -> Vec<String> {
        let digest = self.digest.clone().unwrap_or_default();
        vec![
            self.target.clone(),
            self.result.to_owned(),
            digest.chars().take(19).collect(),
        ]
    }
}

/// What a run did. Bytes and blobs are those of this run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    images: Vec<ImageResult>,
    unchanged: u64,
    blobs_sent: u64,
    blobs_mounted: u64,
    blobs_skipped: u64,
    bytes_sent: u64,
}

/// Copies images, prints the summary, and returns the lock of those that succeeded.
pub(super) async fn copy(
    source: &Source,
    target: &Client,
    copies: &[Copy],
    options: CopyOptions,
    output: Output,
    printer: &Printer,
) -> anyhow::Result<(ExitCode, Lock)> {
    let progress = Arc::new(Progress::default());
    let copier = Copier::new(target.clone(), options, Arc::clone(&progress));
    let results = progress::shown(&progress, copies.len(), copier.copy_all(source, copies)).await;
    let mut lock = Lock::new();
    for (copy, result) in copies.iter().zip(&results) {
        if let Ok(copied) = result {
            lock.insert(&copy.source, copied.digest.clone());
        }
    }
    let failed = results.iter().filter(|result| result.is_err()).count();
    print(copies, &results, progress.totals(), output, printer)?;
    let first = results.into_iter().find_map(Result::err);
    match first {
        None => Ok((ExitCode::SUCCESS, lock)),
        Some(error) if copies.len() == 1 => Err(hinted(error)),
        Some(error) => {
            let error = hinted(error);
            Err(error.context(format!(
                "{failed} of {} images failed, the first",
                copies.len()
            )))
        }
    }
}

fn print(
    copies: &[Copy],
    results: &[Result<Copied, outrigger_oci::Error>],
    totals: Totals,
    output: Output,
    printer: &Printer,
) -> anyhow::Result<()> {
    let images: Vec<ImageResult> = copies
        .iter()
        .zip(results)
        .map(|(copy, result)| row(copy, result))
        .collect();
    if output == Output::Table {
        printer.list(output, &images)?;
        note(&format!(
            "{} images, {} unchanged; blobs: {} sent ({}), {} mounted, {} already there",
            totals.images,
            totals.unchanged,
            totals.pushed,
            Size::from(totals.sent),
            totals.mounted,
            totals.skipped
        ));
        return Ok(());
    }
    let summary = Summary {
        images,
        unchanged: totals.unchanged,
        blobs_sent: totals.pushed,
        blobs_mounted: totals.mounted,
        blobs_skipped: totals.skipped,
        bytes_sent: totals.sent,
    };
    printer.value(output, &summary)
}

fn row(copy: &Copy, result: &Result<Copied, outrigger_oci::Error>) -> ImageResult {
    let (digest, word, error) = match result {
        Ok(copied) if copied.unchanged => (Some(copied.digest.to_string()), "unchanged", None),
        Ok(copied) => (Some(copied.digest.to_string()), "copied", None),
        Err(error) => (None, "failed", Some(chain(error))),
    };
    ImageResult {
        source: copy.source.to_string(),
        target: copy.target.to_string(),
        digest,
        result: word,
        error,
    }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
