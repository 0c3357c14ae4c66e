//! Integrity checks before deployment. Each is a pure function from the model or the output to findings.

mod cidr;
mod iam;
mod reserved;
mod secrets;
mod sizes;
mod unit_cycles;

use std::collections::BTreeSet;

use outrigger_model::{Model, Scope};
use serde_json::Value;

use crate::configuration::Configuration;
use crate::finding::Finding;
use crate::stage::{Rendered, RenderedFile, Template};

pub(crate) use cidr::{Cidr, overlaps};
pub use iam::{Privilege, privileges};
pub(crate) use sizes::USER_DATA_BYTES;

/// Contributions to node pools that do not exist.
pub(crate) fn pools(model: &Model, configuration: &Configuration) -> Vec<Finding> {
    let known: BTreeSet<_> = configuration.pool_names().collect();
    let unknown = model
        .contributions()
        .into_iter()
        .filter_map(|contribution| match contribution.scope {
            Scope::NodePool(pool) if !known.contains(&pool) => {
                let message = format!("contributes to the node pool {pool}, which does not exist");
                Some(Finding::fatal(contribution.owner.as_str(), message))
            }
            _ => None,
        });
    unknown.collect()
}

/// Checks of the model.
pub(crate) fn model(model: &Model, configuration: &Value) -> Vec<Finding> {
    [
        iam::wildcards(model, configuration),
        iam::names(model),
        reserved::findings(model),
        secrets::findings(model),
        unit_cycles::findings(model),
    ]
    .concat()
}

/// Outputs of a plugin that another one has already rendered.
pub(crate) fn repeated_outputs(
    plugin: &str,
    rendered: &Rendered,
    templates: &[Template],
    files: &[RenderedFile],
) -> Vec<Finding> {
    let known: BTreeSet<&str> = rendered
        .templates
        .iter()
        .map(|template| template.name.as_str())
        .collect();
    let templates = templates
        .iter()
        .map(|template| template.name.as_str())
        .filter(|name| known.contains(name));
    let templates = templates.map(|name| {
        Finding::fatal(
            plugin,
            format!("renders the template {name}, which exists already"),
        )
    });
    let known: BTreeSet<&str> = rendered
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let files = files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| known.contains(path));
    let files = files.map(|path| {
        Finding::fatal(
            plugin,
            format!("renders the file {path}, which exists already"),
        )
    });
    templates.chain(files).collect()
}

/// Checks of the output of render.
pub(crate) fn rendered(rendered: &Rendered) -> Vec<Finding> {
    sizes::findings(rendered)
}
