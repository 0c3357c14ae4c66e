//! Writes the custom resource definitions of our kinds to `crates/api/crds`, for users and other tools.

use anyhow::bail;
use fs_err as fs;

use crate::tidy;

const FOLDER: &str = "crates/api/crds";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only report whether the committed files are up to date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let folder = tidy::root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    for (name, text) in outrigger_api::definition::files() {
        let path = folder.join(name);
        if !args.check {
            fs::write(&path, text)?;
        } else if fs::read(&path).unwrap_or_default() != text {
            bail!(
                "{} is not up to date; run `cargo xtask gen crds`",
                path.display()
            );
        }
    }
    Ok(())
}
