//! Runs copies, and prints what was copied, skipped and mounted.

use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::RangedU64ValueParser;
use outrigger_oci::{
    Client, Copied, Copier, Copy, CopyOptions, Lock, Platform, Progress, Reference, Source, Totals,
};
use serde::Serialize;

use super::progress;
use super::sync::relocated;
use crate::arguments::{Output, OutputFlag};
use crate::commands::registry_flags::{RegistryFlags, hinted};
use crate::commands::registry_name::{host_of, parse_prefix};
use crate::commands::size::Size;
use crate::plural::counted;
use crate::printer::{Printer, Row};
use crate::report::{note, note_failure};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CopyFlags {
    /// Platform to copy, such as linux/amd64; repeatable; all by default
    #[arg(long = "platform", value_name = "OS/ARCH[/VARIANT]")]
    platforms: Vec<Platform>,
    /// Do not copy signatures and other referrers
    #[arg(long)]
    no_referrers: bool,
    /// Also read the blobs of images that are there, and send those that the target lost or that are damaged in it
    #[arg(long)]
    check_blobs: bool,
    /// Images at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = at_least_one())]
    parallel_images: usize,
    /// Blobs at a time, over all images
    #[arg(long, value_name = "NUMBER", default_value_t = 6, value_parser = at_least_one())]
    parallel_blobs: usize,
}

fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1000)
}

impl CopyFlags {
    pub(super) fn options(&self) -> CopyOptions {
        CopyOptions {
            platforms: self.platforms.clone(),
            referrers: !self.no_referrers,
            check_blobs: self.check_blobs,
            images: self.parallel_images,
            blobs: self.parallel_blobs,
        }
    }
}

/// Flags of the commands that push images to a registry, where they keep their paths.
#[derive(Debug, clap::Args)]
pub(crate) struct PushFlags {
    /// Registry, and optionally a path in it, to push to; images keep their paths
    #[arg(long, value_name = "HOST[:PORT][/PATH]", value_parser = parse_prefix)]
    pub(super) to: String,
    #[command(flatten)]
    copy: CopyFlags,
    #[command(flatten)]
    pub(super) registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

impl PushFlags {
    /// Copies images to their relocated names, prints the summary, and returns the lock of those that succeeded.
    pub(super) async fn push(
        &self,
        source: &Source,
        images: &[Reference],
        plugins: PluginResults,
        printer: &Printer,
    ) -> anyhow::Result<(ExitCode, Lock)> {
        let client = self.registries.client(Some(host_of(&self.to)))?;
        let copies = relocated(images, &self.to)?;
        let (options, output) = (self.copy.options(), self.output.output);
        copy(source, &client, &copies, plugins, options, output, printer).await
    }
}

/// The result of one image or chart.
#[derive(Debug, Serialize)]
pub(super) struct TransferResult {
    source: String,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Row for TransferResult {
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

/// What became of the charts of plugins.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginResults {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) charts: Vec<TransferResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) failed_plugins: Vec<FailedPlugin>,
}

/// A plugin whose chart or images are not known.
#[derive(Debug, Clone, Serialize)]
pub(super) struct FailedPlugin {
    pub(super) plugin: String,
    pub(super) reason: String,
}

/// What a run did. Bytes and blobs are those of this run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    images: Vec<TransferResult>,
    #[serde(flatten)]
    plugins: PluginResults,
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
    plugins: PluginResults,
    options: CopyOptions,
    output: Output,
    printer: &Printer,
) -> anyhow::Result<(ExitCode, Lock)> {
    let progress = Arc::new(Progress::default());
    let copier = Copier::new(target.clone(), options, Arc::clone(&progress));
    let results = progress::shown(
        &progress,
        Some(copies.len()),
        copier.copy_all(source, copies),
    )
    .await;
    let mut lock = Lock::new();
    for (copy, result) in copies.iter().zip(&results) {
        if let Ok(copied) = result {
            lock.insert(&copy.source, copied.digest.clone());
        }
    }
    for (copy, result) in copies.iter().zip(&results) {
        if result.as_ref().is_ok_and(|copied| copied.left_signatures) {
            warn_of_signatures(&copy.source);
        }
    }
    let images = copies.iter().zip(&results);
    let images = images.map(|(copy, result)| image_result(copy, result));
    print(
        images.collect(),
        plugins,
        progress.totals(),
        output,
        printer,
    )?;
    fail(results, copies)?;
    Ok((ExitCode::SUCCESS, lock))
}

/// Fails if an image failed. Of several images, each failure is a note of its own.
fn fail(results: Vec<Result<Copied, outrigger_oci::Error>>, copies: &[Copy]) -> anyhow::Result<()> {
    let failures = results.into_iter().zip(copies);
    let failures = failures.filter_map(|(result, copy)| Some((hinted(result.err()?), copy)));
    let mut failures: Vec<_> = failures.collect();
    match failures.len() {
        0 => Ok(()),
        1 if copies.len() == 1 => Err(failures.remove(0).0),
        failed => {
            for (error, copy) in &failures {
                note_failure(&copy.target.to_string(), error);
            }
            Err(anyhow::anyhow!(
                "{failed} of {} images failed",
                copies.len()
            ))
        }
    }
}

/// Warns that a part of an image is not what was signed.
pub(super) fn warn_of_signatures(image: &Reference) {
    note(&format!(
        "warning: {image}: its signatures and other referrers are those of all its platforms together, and were left out; without \
         --platform they are kept"
    ));
}

fn print(
    images: Vec<TransferResult>,
    plugins: PluginResults,
    totals: Totals,
    output: Output,
    printer: &Printer,
) -> anyhow::Result<()> {
    if output == Output::Table {
        let charts = match plugins.charts.len() {
            0 => String::new(),
            count => format!("{}, ", counted(count, "chart")),
        };
        let rows: Vec<_> = plugins.charts.into_iter().chain(images).collect();
        let count = |word| rows.iter().filter(|row| row.result == word).count();
        let failed = match count("failed") {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let unchanged = count("unchanged");
        printer.list(output, &rows)?;
        for failed in &plugins.failed_plugins {
            note(&format!("{}: {}", failed.plugin, failed.reason));
        }
        note(&format!(
            "{charts}{}, {unchanged} unchanged{failed}; blobs: {} sent ({}), {} mounted, {} already there",
            counted(totals.images, "image"),
            totals.pushed,
            Size::from(totals.sent),
            totals.mounted,
            totals.skipped
        ));
        return Ok(());
    }
    let summary = Summary {
        images,
        plugins,
        unchanged: totals.unchanged,
        blobs_sent: totals.pushed,
        blobs_mounted: totals.mounted,
        blobs_skipped: totals.skipped,
        bytes_sent: totals.sent,
    };
    printer.value(output, &summary)
}

impl TransferResult {
    /// The result of what was copied to a digest, or was there.
    pub(super) fn new(
        source: String,
        target: String,
        result: Result<(String, bool), &dyn std::error::Error>,
    ) -> Self {
        let (digest, word, error) = match result {
            Ok((digest, true)) => (Some(digest), "unchanged", None),
            Ok((digest, false)) => (Some(digest), "copied", None),
            Err(error) => (None, "failed", Some(chain(error))),
        };
        Self {
            source,
            target,
            digest,
            result: word,
            error,
        }
    }
}

/// The row of an image: what is at its target now, or where it should be.
fn image_result(copy: &Copy, result: &Result<Copied, outrigger_oci::Error>) -> TransferResult {
    let (target, result) = match result {
        Ok(copied) => {
            let digest = copied.digest.to_string();
            (copied.target.to_string(), Ok((digest, copied.unchanged)))
        }
        Err(error) => {
            let error = error as &dyn std::error::Error;
            (copy.target.to_string(), Err(error))
        }
    };
    TransferResult::new(copy.source.to_string(), target, result)
}

/// An error with its causes, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use outrigger_oci::Digest;

    use super::*;

    #[test]
    fn the_target_is_what_was_pushed() {
        let pinned = format!("r.local/org/web:1@{}", Digest::of(b"index"));
        let copy = Copy {
            source: "quay.io/org/web:1".parse().unwrap(),
            target: pinned.parse().unwrap(),
        };
        let digest = Digest::of(b"one platform");
        let copied = Copied {
            target: "r.local/org/web:1".parse().unwrap(),
            digest: digest.clone(),
            unchanged: false,
            left_signatures: false,
        };
        let row = image_result(&copy, &Ok(copied));
        assert_eq!(row.target, "r.local/org/web:1");
        assert_eq!(row.digest, Some(digest.to_string()));
        let failed = image_result(&copy, &Err(outrigger_oci::Error::Canceled));
        assert_eq!((failed.target, failed.result), (pinned, "failed"));
    }

    #[test]
    fn each_of_several_failures_is_counted() {
        let copy = |name: &str| Copy {
            source: name.parse().unwrap(),
            target: name.parse().unwrap(),
        };
        let copies = ["a:1", "b:1", "c:1"].map(copy);
        let failed = || Err(outrigger_oci::Error::Canceled);
        let error = fail(vec![failed(), failed(), failed()], &copies).unwrap_err();
        assert_eq!(error.to_string(), "3 of 3 images failed");
        let error = fail(vec![failed()], &copies[..1]).unwrap_err();
        assert_eq!(error.to_string(), "the transfer was canceled");
    }
}
