//! `outrigger expansion new`: writes a small package that passes the checks.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use outrigger_apimachinery::syntax::dns1123_label;
use outrigger_expansion::{StarterFile, starter};

use crate::printer::Printer;
use crate::report::HintExt as _;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion new demo
  outrigger expansion new demo --folder packages/demo";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the package
    name: String,
    /// Folder to write; it must not exist [default: the name]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    if let Some(problem) = dns1123_label(&args.name).first() {
        let error = anyhow!("{:?} is not the name of a package", args.name);
        return Err(error).hint(problem.clone());
    }
    let name = PathBuf::from(&args.name);
    let folder = args.folder.as_ref().unwrap_or(&name);
    ensure!(!folder.exists(), "{} already exists", folder.display());
    for file in starter(&args.name) {
        write(folder, &file)?;
    }
    printer.text(&next_steps(&args.name, &folder.display().to_string()))?;
    Ok(ExitCode::SUCCESS)
}

fn write(folder: &Path, file: &StarterFile) -> anyhow::Result<()> {
    let path = folder.join(&file.path);
    if let Some(parent) = path.parent() {
        fs_err::create_dir_all(parent)?;
    }
    let mut created = fs_err::File::create_new(&path)?;
    created.write_all(file.content.as_bytes())?;
    let mode = std::fs::Permissions::from_mode(file.mode);
    fs_err::set_permissions(&path, mode)?;
    Ok(())
}

fn next_steps(name: &str, folder: &str) -> String {
    format!(
        "\
package {name} written to {folder}

1. Put your charts into {folder}/charts, files for machines into {folder}/files, and scripts
   into {folder}/hooks, and list them in {folder}/expansion.yaml.
2. outrigger expansion check {folder}
3. outrigger expansion inspect {folder}
4. Where there is internet, write one file with everything, images included:
   outrigger expansion build {folder} --to {name}.tar.zst
"
    )
}
