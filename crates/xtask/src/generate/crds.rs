//! Writes the custom resource definitions of our kinds to `crates/api/crds`, for users and other tools, and their
//! reference to `docs/`.

use super::CheckFlag;
use crate::tidy;

const FOLDER: &str = "crates/api/crds";

const REFERENCE: &str = "docs";

pub(crate) fn run(flag: &CheckFlag) -> anyhow::Result<()> {
    let root = tidy::root();
    for (name, text) in outrigger_api::definition::files() {
        flag.update("crds", &root.join(FOLDER).join(name), &text)?;
    }
    for (name, page) in outrigger_api::reference::files() {
        flag.update("crds", &root.join(REFERENCE).join(name), page.as_bytes())?;
    }
    Ok(())
}
