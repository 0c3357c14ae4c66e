//! The steps of a script, as a file of `clients/` has them.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// One line of shell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) run: String,
    /// Runs again until it succeeds.
    #[serde(default)]
    pub(super) until: bool,
    /// `embedded`: not on the real server, for a reason.
    #[serde(default)]
    pub(super) only: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

/// The script for a client; both Helm majors have one in common.
pub(super) fn load(folder: &Path, name: &str) -> anyhow::Result<Vec<Step>> {
    let file = if name.starts_with("helm") {
        "helm"
    } else {
        name
    };
    let path = folder.join(format!("{file}.yaml"));
    let steps: Vec<Step> =
        serde_json::from_value(outrigger_goyaml::parse_json(&fs_err::read(&path)?)?)
            .with_context(|| format!("{file}.yaml"))?;
    for step in &steps {
        let explained = step.only.is_none() || step.reason.is_some();
        anyhow::ensure!(explained, "{:?} has no reason", step.run);
    }
    Ok(steps)
}
