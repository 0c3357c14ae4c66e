//! The format of the scripts in `clients/`.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// A shell command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) run: String,
    /// Repeat until it succeeds.
    #[serde(default)]
    pub(super) until: bool,
    /// `embedded`: not on the real server, for the given reason.
    #[serde(default)]
    pub(super) only: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

/// Loads the script of a client; both Helm majors share one.
pub(super) fn load(directory: &Path, name: &str) -> anyhow::Result<Vec<Step>> {
    let file = if name.starts_with("helm") {
        "helm"
    } else {
        name
    };
    let path = directory.join(format!("{file}.yaml"));
    let steps: Vec<Step> =
        serde_json::from_value(outrigger_goyaml::parse_json(&fs_err::read(&path)?)?)
            .with_context(|| format!("{file}.yaml"))?;
    for step in &steps {
        let is_explained = step.only.is_none() || step.reason.is_some();
        anyhow::ensure!(is_explained, "step {:?} has no reason", step.run);
    }
    Ok(steps)
}
