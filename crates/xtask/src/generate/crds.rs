//! Writes the custom resource definitions of our kinds to `crates/api/crds`, for users and other tools, and their
//! reference to `docs/`.

use std::path::Path;

use anyhow::bail;
use fs_err as fs;

use crate::tidy;

const FOLDER: &str = "crates/api/crds";

const REFERENCE: &str = "docs";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only report whether the committed files are up to date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = tidy::root();
    for (name, text) in outrigger_api::definition::files() {
        update(args, &root.join(FOLDER).join(name), &text)?;
    }
    for (name, page) in outrigger_api::reference::files() {
        update(args, &root.join(REFERENCE).join(name), page.as_bytes())?;
    }
    Ok(())
}

fn update(args: &Args, path: &Path, text: &[u8]) -> anyhow::Result<()> {
    if !args.check {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        return Ok(fs::write(path, text)?);
    }
    if fs::read(path).unwrap_or_default() != text {
        bail!(
            "{} is not up to date; run `cargo xtask gen crds`",
            path.display()
        );
    }
    Ok(())
}
