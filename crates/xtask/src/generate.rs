//! `cargo xtask gen`: committed files that a program writes.

mod advisories;
mod crds;
mod deploy;
mod kubernetes;

use std::path::Path;

use anyhow::bail;
use fs_err as fs;

/// Generate committed files
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Generate {
    /// The advisories about our dependencies, from a checkout of the `RustSec` database
    Advisories(advisories::Args),
    /// The custom resource definitions of our kinds, from their Rust types
    Crds(CheckFlag),
    /// The generated parts of `deploy/`: roles, custom resource definitions, the plain manifest
    Deploy(CheckFlag),
    /// Facts about the pinned Kubernetes: Go types, protobuf messages, recorded answers (needs Go and real peers)
    Kubernetes(kubernetes::Args),
}

pub(crate) fn run(generate: &Generate) -> anyhow::Result<()> {
    match generate {
        Generate::Advisories(args) => advisories::run(args),
        Generate::Crds(flag) => crds::run(flag),
        Generate::Deploy(flag) => deploy::run(flag),
        Generate::Kubernetes(args) => kubernetes::run(args),
    }
}

/// Whether files are written or only compared.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckFlag {
    /// Only report whether the committed files are up to date
    #[arg(long)]
    check: bool,
}

impl CheckFlag {
    /// Writes a file, or fails if it differs. `task` is the command that writes it.
    fn update(&self, task: &str, path: &Path, text: &[u8]) -> anyhow::Result<()> {
        if !self.check {
            fs::create_dir_all(path.parent().unwrap_or(path))?;
            return Ok(fs::write(path, text)?);
        }
        if fs::read(path).unwrap_or_default() != text {
            bail!(
                "{} is not up to date; run `cargo xtask gen {task}`",
                path.display()
            );
        }
        Ok(())
    }
}
