//! `outrigger expansion merge`: makes one package of two.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_expansion::build::{BuildOptions, plan_combined};
use outrigger_expansion::combine::Naming;
use outrigger_oci::Platform;

use super::build::{TargetFlags, build_error, note_finding};
use super::opening::writing;
use crate::commands::registry_flags::RegistryFlags;
use crate::printer::Printer;
use crate::report::note;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion merge ./demo ./monitoring --to site.tar.zst --name site --version 1.0.0";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of a package
    #[arg(value_name = "DIR")]
    first: PathBuf,
    /// Folder of another package
    #[arg(value_name = "DIR")]
    second: PathBuf,
    /// Name of the result; without it, both must have the same
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Version of the result; without it, both must have the same
    #[arg(long = "version", value_name = "VERSION")]
    package_version: Option<String>,
    #[command(flatten)]
    target: TargetFlags,
    /// Platform of the images, such as linux/amd64; repeatable; all by default
    #[arg(long = "platform", value_name = "OS/ARCH[/VARIANT]")]
    platforms: Vec<Platform>,
    #[command(flatten)]
    registries: RegistryFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    args.target.check(&args.first)?;
    args.target.check(&args.second)?;
    let client = args.registries.client(None)?;
    let options = BuildOptions {
        platforms: args.platforms.clone(),
        base: None,
    };
    let naming = Naming {
        name: args.name.clone(),
        version: args.package_version.clone(),
    };
    let complete = writing(async |progress| {
        let folders = [args.first.as_path(), args.second.as_path()];
        let plan = plan_combined(folders, &naming, &client, &options).await;
        let plan = plan.map_err(build_error)?;
        plan.findings.iter().for_each(note_finding);
        plan.notes.iter().for_each(|left_out| note(left_out));
        args.target.write(plan, &progress).await
    })?;
    args.target.print(&complete, printer)?;
    Ok(ExitCode::SUCCESS)
}
