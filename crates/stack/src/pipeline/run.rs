//! One call of one plugin in one stage. Whatever goes wrong is a finding of that plugin.

use std::panic::{AssertUnwindSafe, catch_unwind};

use outrigger_model::Model;
use serde_json::{Map, Value};

use super::Pipeline;
use crate::finding::Finding;
use crate::plugin::{Request, Response};
use crate::stage::{Rendered, Stage};

/// What all plugins get in a stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) stage: Stage,
    pub(super) configuration: &'a Value,
    pub(super) model: Option<&'a Model>,
    pub(super) rendered: &'a Rendered,
    pub(super) details: &'a Map<String, Value>,
}

static NOTHING_RENDERED: Rendered = Rendered {
    templates: Vec::new(),
    files: Vec::new(),
};
static NO_DETAILS: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl<'a> Call<'a> {
    pub(super) fn new(stage: Stage, configuration: &'a Value) -> Self {
        Self {
            stage,
            configuration,
            model: None,
            rendered: &NOTHING_RENDERED,
            details: &NO_DETAILS,
        }
    }

    /// Runs a plugin. Its findings are added to the list, with its name.
    pub(super) fn run(
        self,
        pipeline: &Pipeline,
        position: usize,
        findings: &mut Vec<Finding>,
    ) -> Response {
        let (plugin, activation) = &pipeline.plugins[position];
        let name = plugin.metadata.name.as_str();
        let request = Request {
            stage: self.stage,
            plugin: &plugin.metadata,
            configuration: self.configuration,
            values: self
                .values_of(plugin.metadata.key())
                .or(activation.cluster.as_ref()),
            pools: &activation.pools,
            model: self.model,
            rendered: self.rendered,
            details: self.details,
        };
        let result = catch_unwind(AssertUnwindSafe(|| plugin.body.run(&request)));
        let mut response = match result {
            Ok(Ok(response)) => response,
            Ok(Err(failure)) => {
                findings.push(Finding::fatal(name, format!("{}: {failure}", self.stage)));
                return Response::default();
            }
            Err(_) => {
                findings.push(Finding::fatal(name, format!("{}: panicked", self.stage)));
                return Response::default();
            }
        };
        for mut finding in response.findings.drain(..) {
            name.clone_into(&mut finding.plugin);
            findings.push(finding);
        }
        if let Some(field) = response.misplaced(self.stage) {
            let message = format!(
                "returned {field} in {}, which has no such output",
                self.stage
            );
            findings.push(Finding::fatal(name, message));
            return Response::default();
        }
        response
    }

    /// The values with those that were initialised.
    fn values_of(&self, key: &str) -> Option<&'a Map<String, Value>> {
        self.configuration.get("plugins")?.get(key)?.as_object()
    }
}
