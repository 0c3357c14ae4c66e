//! `outrigger provider`: provider folders, which hold what is installed on machines.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, ensure};
use outrigger_cluster::Providers;
use outrigger_cluster::provider_folder::{self, FileKind, Folder, INDEX};
use outrigger_oci::Archive;
use serde::Serialize;

use super::size::Size;
use crate::arguments::OutputFlag;
use crate::plural::counted;
use crate::printer::{Printer, Row};
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger provider build ./provider    Write provider.yaml for the files of a folder
  outrigger provider check ./provider    Compare the files with provider.yaml
  outrigger provider list ./provider     List versions, architectures and files

A folder has the files of each version of Kubernetes and architecture in
  VERSION/ARCHITECTURE/bin         Programs: kubeadm, kubelet, kubectl
  VERSION/ARCHITECTURE/images      Image archives, of `docker save` or `outrigger image save`
  VERSION/ARCHITECTURE/packages    Archives that are unpacked on machines
  VERSION/ARCHITECTURE/templates   Configuration files";

/// Where the files of a folder have to be.
const LOCATION: &str = "files are in VERSION/ARCHITECTURE/bin, images, packages or templates, such as 1.36.4/amd64/bin/kubelet";

/// The providers, with the files of a folder.
pub(crate) fn providers(folder: Option<&Path>) -> anyhow::Result<Providers> {
    let Some(folder) = folder else {
        return Ok(Providers::default());
    };
    let hint = format!(
        "`outrigger provider build {}` writes {INDEX}",
        folder.display()
    );
    Providers::with_folder(folder).hint(hint)
}

/// Build, check and list provider folders
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Write provider.yaml, with the digests of all files
    Build(BuildArgs),
    /// Report files that are missing, changed or not listed
    Check(FolderArgs),
    /// List the files
    #[command(visible_alias = "ls")]
    List(ListArgs),
}

const BUILD_EXAMPLES: &str = "\
Examples:
  outrigger provider build ./provider
  outrigger provider build ./provider --name site";

#[derive(Debug, clap::Args)]
#[command(after_help = BUILD_EXAMPLES)]
pub(crate) struct BuildArgs {
    /// Provider folder
    folder: PathBuf,
    /// Name of the provider [default: the name of the folder]
    #[arg(long)]
    name: Option<String>,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  outrigger provider check ./provider";

#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct FolderArgs {
    /// Provider folder
    folder: PathBuf,
}

const LIST_EXAMPLES: &str = "\
Examples:
  outrigger provider list ./provider
  outrigger provider list ./provider -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArgs {
    /// Provider folder
    folder: PathBuf,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Listed {
    kubernetes: String,
    architecture: String,
    kind: FileKind,
    name: String,
    size: u64,
    path: String,
}

impl Row for Listed {
    const HEADERS: &'static [&'static str] =
        &["KUBERNETES", "ARCHITECTURE", "KIND", "NAME", "SIZE"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.kubernetes.clone(),
            self.architecture.clone(),
            format!("{:?}", self.kind),
            self.name.clone(),
            Size::from(self.size).to_string(),
        ]
    }
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Build(args) => build(args, printer),
        Verb::Check(args) => check(&args.folder, printer),
        Verb::List(args) => list(args, printer),
    }
}

fn build(args: &BuildArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let root = &args.folder;
    ensure!(root.exists(), "folder {} does not exist", root.display());
    let name = args.name.clone().map_or_else(|| folder_name(root), Ok)?;
    let files = provider_folder::read_files(root)?;
    let folder = Folder::of_files(&name, &files, |path| image_name(&root.join(path)))?;
    for finding in folder.unlisted(&files) {
        note(&format!("{finding}: {LOCATION}"));
    }
    if folder.releases.is_empty() {
        return Err(anyhow!("folder {} has no release", root.display())).hint(LOCATION);
    }
    fs_err::write(root.join(INDEX), folder.to_yaml())?;
    let releases = folder.releases.iter();
    let files: usize = releases.map(|release| release.files.len()).sum();
    let releases = counted(folder.releases.len(), "release");
    let files = counted(files, "file");
    printer.line(&format!("provider {name}: {releases}, {files}"))?;
    Ok(ExitCode::SUCCESS)
}

fn folder_name(root: &Path) -> anyhow::Result<String> {
    let root = fs_err::canonicalize(root)?;
    let name = root.file_name().context("the folder has no name")?;
    Ok(name.to_string_lossy().into_owned())
}

fn read_index(root: &Path) -> anyhow::Result<Folder> {
    ensure!(root.exists(), "folder {} does not exist", root.display());
    let hint = format!(
        "`outrigger provider build {}` writes {INDEX}",
        root.display()
    );
    provider_folder::read_index(root).hint(hint)
}

/// The name of the only image in an archive.
fn image_name(path: &Path) -> Option<String> {
    let archive = Archive::open(path).ok()?;
    match archive.images() {
        [image] => image.names.first().cloned(),
        _ => None,
    }
}

fn check(root: &Path, printer: &Printer) -> anyhow::Result<ExitCode> {
    let folder = read_index(root)?;
    let findings = folder.check(&provider_folder::read_files(root)?);
    for finding in &findings {
        printer.line(&finding.to_string())?;
    }
    if !findings.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    printer.line(&format!("provider {} is complete", folder.name))?;
    Ok(ExitCode::SUCCESS)
}

fn list(args: &ListArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let folder = read_index(&args.folder)?;
    let listed = folder.releases.into_iter().flat_map(|release| {
        let (kubernetes, architecture) = (release.kubernetes, release.architecture);
        release.files.into_iter().map(move |file| Listed {
            kubernetes: kubernetes.clone(),
            architecture: architecture.clone(),
            kind: file.kind,
            name: file.name,
            size: file.size,
            path: file.path,
        })
    });
    let listed: Vec<Listed> = listed.collect();
    printer.list(args.output.output, &listed)?;
    Ok(ExitCode::SUCCESS)
}
