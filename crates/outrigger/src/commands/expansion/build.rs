//! `outrigger expansion build`: writes a package with everything that it needs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{anyhow, ensure};
use outrigger_expansion::archive::{MIN_CHUNK, Written};
use outrigger_expansion::build::{self, BuildOptions, Plan, WriteOptions};
use outrigger_expansion::{Base, EntryKind, Finding, Progress, find_built, signature};
use outrigger_oci::Platform;
use serde::Serialize;

use super::opening::writing;
use super::sign::{Expiry, read_key, signature_error};
use super::summary;
use crate::arguments::{Output, OutputFlag};
use crate::commands::registry_flags::RegistryFlags;
use crate::commands::size::Size;
use crate::plural::counted;
use crate::printer::{Field, Printer};
use crate::report::{HintExt as _, UsageError, hinted, note};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion build ./demo --to demo.tar.zst
  outrigger expansion build ./demo --to demo.tar.zst --key demo.key --platform linux/amd64
  outrigger expansion build ./demo --to demo-1.1.0.tar.zst --delta-from demo-1.0.0.tar.zst
  outrigger expansion build ./demo --to demo.tar.zst --chunk-size 2Gi";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the package
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    target: TargetFlags,
    /// Platform of the images, such as linux/amd64; repeatable; all by default
    #[arg(long = "platform", value_name = "OS/ARCH[/VARIANT]")]
    platforms: Vec<Platform>,
    /// Leave out what this package has, so that the result can only be used with it
    #[arg(long, value_name = "PACKAGE")]
    delta_from: Option<PathBuf>,
    #[command(flatten)]
    registries: RegistryFlags,
}

/// Where and how a package is written.
#[derive(Debug, clap::Args)]
pub(super) struct TargetFlags {
    /// File to write (.tar.zst); with --chunk-size its name is followed by .001, .002 and so on
    #[arg(long = "to", value_name = "FILE")]
    target: PathBuf,
    /// Write chunks of at most this size, such as 2Gi
    #[arg(long, value_name = "SIZE")]
    chunk_size: Option<Size>,
    /// Private key to sign with
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    expiry: Expiry,
    #[command(flatten)]
    output: OutputFlag,
}

/// What was built.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Of the root document.
    digest: String,
    files: Vec<String>,
    size: u64,
    entries: usize,
    images: usize,
    blobs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// Bytes that the base has.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_to_base: Option<u64>,
    signed: bool,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    args.target.check(&args.folder)?;
    if let Some(base) = &args.delta_from {
        args.target.check_base(base)?;
    }
    let client = args.registries.client(None)?;
    let options = BuildOptions {
        platforms: args.platforms.clone(),
        base: args.delta_from.clone(),
    };
    let written = writing(async |progress| {
        let plan = build::plan(&args.folder, &client, &options).await;
        let plan = plan.map_err(build_error)?;
        plan.findings.iter().for_each(note_finding);
        args.target.write(plan, &progress).await
    })?;
    args.target.print(&written, printer)?;
    Ok(ExitCode::SUCCESS)
}

/// A package that was written.
pub(super) struct Complete {
    report: Report,
}

impl TargetFlags {
    /// Refuses targets that cannot be what the user wants.
    pub(super) fn check(&self, folder: &Path) -> anyhow::Result<()> {
        let name = self.target.to_string_lossy();
        if !name.ends_with(".tar.zst") {
            let message = format!("{name} is not the name of a package: it must end in .tar.zst");
            return Err(UsageError(message).into());
        }
        if self.chunk_size.is_some_and(|size| size.bytes() < MIN_CHUNK) {
            let least = Size::from(MIN_CHUNK);
            let message = format!("--chunk-size must be at least {least}");
            return Err(UsageError(message).into());
        }
        let parent = parent(&self.target);
        ensure!(parent.is_dir(), "{} is not a folder", parent.display());
        if self.chunk_size.is_some() && self.target.exists() {
            let error = anyhow!("{name} exists, and chunks would not replace it");
            return Err(error).hint("remove it, or choose another name with --to");
        }
        if let (Ok(folder), Ok(parent)) =
            (fs_err::canonicalize(folder), fs_err::canonicalize(parent))
            && parent.starts_with(&folder)
        {
            let error = anyhow!("{name} would be part of the package itself");
            return Err(error).hint("write it next to the folder");
        }
        Ok(())
    }

    /// Refuses to replace the package that a delta needs: the file, or any of its chunks.
    fn check_base(&self, base: &Path) -> anyhow::Result<()> {
        let (Ok(input), Ok(folder)) =
            (find_built(base), fs_err::canonicalize(parent(&self.target)))
        else {
            // It is reported when it is read.
            return Ok(());
        };
        let name = self.target.file_name().unwrap_or_default();
        let target = folder.join(name);
        let chunks = format!("{}.", target.display());
        for file in input.files() {
            let file = fs_err::canonicalize(file)?;
            if file == target || file.display().to_string().starts_with(&chunks) {
                let error = anyhow!(
                    "{} would replace its base {}",
                    self.target.display(),
                    base.display()
                );
                return Err(error).hint("choose another name with --to");
            }
        }
        Ok(())
    }

    /// Signs and writes a package.
    pub(super) async fn write(
        &self,
        plan: Plan,
        progress: &Arc<Progress>,
    ) -> anyhow::Result<Complete> {
        let signatures = match &self.key {
            Some(key) => {
                let root = plan.root().to_text();
                let key = read_key(key)?;
                let signed = signature::sign(None, root.as_bytes(), &key, self.expiry.expires);
                Some(signed.map_err(signature_error)?)
            }
            None => None,
        };
        let options = WriteOptions {
            chunk_size: self.chunk_size.map(Size::bytes),
            signatures,
        };
        let mut report = Report::of(&plan, self.key.is_some());
        let written = plan.write(&self.target, options, progress).await;
        let Written { paths, size } = written.map_err(|error| {
            let hint = error.hint();
            hinted(error, hint)
        })?;
        report.files = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        report.size = size;
        Ok(Complete { report })
    }

    pub(super) fn print(&self, complete: &Complete, printer: &Printer) -> anyhow::Result<()> {
        let report = &complete.report;
        if self.output.output != Output::Table {
            return printer.value(self.output.output, report);
        }
        let files = match &report.files[..] {
            [file] => file.clone(),
            [first, .., last] => format!(
                "{first} … {last} ({})",
                counted(report.files.len(), "chunk")
            ),
            [] => String::new(),
        };
        let version = report.version.clone().unwrap_or_default();
        let images = match report.images {
            0 => String::new(),
            images => format!(
                "{}, {}",
                counted(images, "image"),
                counted(report.blobs, "blob")
            ),
        };
        let left = report.left_to_base.unwrap_or_default();
        let base = report
            .base
            .as_ref()
            .map(|base| format!("{base}, which has {}", Size::from(left)));
        printer.fields(&[
            Field::new(
                "Package",
                format!("{} {version}", report.name).trim_end().to_owned(),
            ),
            Field::new("File", files),
            Field::new("Size", Size::from(report.size).to_string()),
            Field::new("Files", report.entries.to_string()),
            Field::new("Images", images),
            Field::new("Delta of", base.unwrap_or_default()),
            Field::new("Signed", if report.signed { "yes" } else { "no" }),
            Field::new("Digest", report.digest.clone()),
        ])
    }
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or_else(|| Path::new("."))
}

impl Report {
    fn of(plan: &Plan, signed: bool) -> Self {
        let (root, lock) = (plan.root(), plan.lock());
        let count = |kind| lock.entries().filter(|entry| entry.kind == kind).count();
        Self {
            name: root.name.clone(),
            version: root.version.clone(),
            digest: root.digest().to_string(),
            files: Vec::new(),
            size: 0,
            entries: count(EntryKind::File),
            images: lock.images().len(),
            blobs: count(EntryKind::Manifest) + count(EntryKind::Blob),
            left_to_base: root
                .base
                .as_ref()
                .map(|_| lock.size(false) - lock.size(true)),
            base: root.base.as_ref().map(Base::title),
            signed,
        }
    }
}

/// An error with its hint. Findings are printed first.
pub(super) fn build_error(error: build::Error) -> anyhow::Error {
    match &error {
        build::Error::Findings { folder, findings } => {
            findings.iter().for_each(note_finding);
            anyhow!("{} has {}", folder.display(), summary(findings))
        }
        build::Error::Conflicts(conflicts) => {
            for conflict in conflicts {
                note(&format!("conflict: {conflict}"));
            }
            hinted(error, Some(CONFLICTS.to_owned()))
        }
        _ => {
            let hint = error.hint();
            hinted(error, hint)
        }
    }
}

const CONFLICTS: &str = "change one of the packages, so that each field has one owner; --name and --version choose those of the result";

pub(super) fn note_finding(finding: &Finding) {
    note(&finding.to_string());
    if let Some(hint) = &finding.hint {
        note(&format!("  hint: {hint}"));
    }
}
