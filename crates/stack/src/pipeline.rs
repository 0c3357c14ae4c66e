//! The pipeline: a stage runs for all plugins, in order, before the next one begins.

mod run;

use std::collections::{BTreeMap, BTreeSet};

use outrigger_model::{Contribution, Model, Owner, merge};
use serde_json::{Map, Value};

use crate::check;
use crate::configuration::{self, Activation, Configuration, value_problems};
use crate::finding::Finding;
use crate::order::{OrderError, sort};
use crate::plugin::{Origin, Plugin, Response};
use crate::stage::{Rendered, Stage};
use crate::values::overlay;
use run::Call;

/// Why a pipeline cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to read the configuration")]
    Configuration(#[from] configuration::Error),
    #[error("failed to order the plugins")]
    Order(#[from] OrderError),
}

/// The enabled plugins in order, with their values.
#[derive(Debug)]
pub struct Pipeline {
    configuration: Configuration,
    plugins: Vec<(Plugin, Activation)>,
}

/// The output of a stage with its findings. There is no output if a finding is fatal.
#[derive(Debug)]
pub struct Outcome<T> {
    pub findings: Vec<Finding>,
    pub output: Option<T>,
}

impl<T> Outcome<T> {
    fn new(mut findings: Vec<Finding>, output: T) -> Self {
        findings.sort();
        findings.dedup();
        let is_fatal = findings.iter().any(Finding::is_fatal);
        Self {
            findings,
            output: (!is_fatal).then_some(output),
        }
    }
}

/// The output of initialise: the configuration with initialised values, and all contributions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialised {
    pub configuration: Value,
    pub model: Model,
}

/// The output of deploy: what plugins and the delivery report about the stacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deployed {
    pub details: Map<String, Value>,
}

/// Delivers what was rendered.
pub trait Deliver {
    /// Creates or updates the stacks, and returns details such as endpoints.
    fn deliver(
        &mut self,
        stack_name: &str,
        rendered: &Rendered,
    ) -> Result<Map<String, Value>, Finding>;
}

impl Pipeline {
    /// Selects and orders the enabled plugins.
    pub fn new(
        configuration: Configuration,
        plugins: Vec<Plugin>,
        order_file: &[String],
    ) -> Result<Self, Error> {
        configuration.check_plugins(&plugins)?;
        let mut enabled = BTreeMap::new();
        let known: BTreeSet<String> = plugins
            .iter()
            .map(|plugin| plugin.metadata.name.to_string())
            .collect();
        for plugin in plugins {
            let activation = configuration.activation(&plugin)?;
            if activation.is_enabled() {
                enabled.insert(plugin.metadata.name.clone(), (plugin, activation));
            }
        }
        let metadata: Vec<_> = enabled
            .values()
            .map(|(plugin, _)| &plugin.metadata)
            .collect();
        let known = known.iter().map(String::as_str).collect();
        let order = sort(&metadata, &known, order_file)?;
        let plugins = order
            .iter()
            .filter_map(|name| enabled.remove(name))
            .collect();
        Ok(Self {
            configuration,
            plugins,
        })
    }

    /// The enabled plugins in order.
    pub fn plugins(&self) -> impl Iterator<Item = &Plugin> {
        self.plugins.iter().map(|(plugin, _)| plugin)
    }

    fn resolved(&self, activations: &[Activation]) -> Value {
        let all = self.plugins.iter().zip(activations);
        let all = all.map(|((plugin, _), activation)| {
            (&plugin.metadata.name, plugin.metadata.key(), activation)
        });
        self.configuration.resolved(all)
    }

    /// Runs initialise: configuration in; configuration with initialised values and the model out.
    pub fn initialise(&self) -> Outcome<Initialised> {
        let mut findings = self.configuration_findings();
        if findings.iter().any(Finding::is_fatal) {
            return Outcome::new(
                findings,
                Initialised {
                    configuration: Value::Null,
                    model: Model::default(),
                },
            );
        }
        let mut activations: Vec<Activation> = self
            .plugins
            .iter()
            .map(|(_, activation)| activation.clone())
            .collect();
        let mut contributions: Vec<Contribution> = Vec::new();
        let mut configuration = self.resolved(&activations);
        for position in 0..self.plugins.len() {
            let call = Call::new(Stage::Initialise, &configuration);
            let response = call.run(self, position, &mut findings);
            let name = &self.plugins[position].0.metadata.name;
            if let (false, Some(values)) = (
                response.values.is_empty(),
                activations[position].cluster.as_mut(),
            ) {
                overlay(values, &response.values);
                configuration = self.resolved(&activations);
            }
            for contribution in response.contributions {
                match owned(name, contribution) {
                    Ok(contribution) => contributions.push(contribution),
                    Err(message) => findings.push(Finding::fatal(name.as_str(), message)),
                }
            }
        }
        let model = merge(contributions).unwrap_or_else(|conflicts| {
            findings.extend(
                conflicts
                    .iter()
                    .map(|conflict| Finding::fatal(conflict.owner.as_str(), conflict.to_string())),
            );
            Model::default()
        });
        findings.extend(check::pools(&model, &self.configuration));
        Outcome::new(
            findings,
            Initialised {
                configuration,
                model,
            },
        )
    }

    fn configuration_findings(&self) -> Vec<Finding> {
        let found = self.plugins.iter().flat_map(|(plugin, activation)| {
            let name = plugin.metadata.name.as_str();
            let problems = value_problems(plugin, activation).into_iter();
            let problems = problems.map(move |problem| Finding::fatal(name, problem));
            let contrib = plugin.metadata.origin == Origin::Contrib;
            let contrib = contrib
                .then(|| Finding::warning(name, "is a contrib plugin, which is not fully tested"));
            problems.chain(contrib)
        });
        found.collect()
    }

    /// Runs render: the output of initialise in; templates and files out.
    pub fn render(&self, initialised: &Initialised) -> Outcome<Rendered> {
        let mut findings = check::model(&initialised.model, &initialised.configuration);
        let mut rendered = Rendered::default();
        for position in 0..self.plugins.len() {
            let call = Call {
                model: Some(&initialised.model),
                rendered: &rendered,
                ..Call::new(Stage::Render, &initialised.configuration)
            };
            let Response {
                templates, files, ..
            } = call.run(self, position, &mut findings);
            let name = self.plugins[position].0.metadata.name.as_str();
            findings.extend(check::repeated_outputs(name, &rendered, &templates, &files));
            rendered.templates.extend(templates);
            rendered.files.extend(files);
        }
        rendered
            .templates
            .sort_by(|one, other| one.name.cmp(&other.name));
        rendered
            .files
            .sort_by(|one, other| one.path.cmp(&other.path));
        findings.extend(check::rendered(&rendered));
        Outcome::new(findings, rendered)
    }

    /// Runs deploy: rendered output and stack name in; details of the stacks out. Stops at the first fatal finding.
    pub fn deploy(
        &self,
        initialised: &Initialised,
        rendered: &Rendered,
        stack_name: &str,
        deliver: &mut dyn Deliver,
    ) -> Outcome<Deployed> {
        let mut findings = Vec::new();
        let mut details = match deliver.deliver(stack_name, rendered) {
            Ok(details) => details,
            Err(finding) => return Outcome::new(vec![finding], Deployed::default()),
        };
        for position in 0..self.plugins.len() {
            let call = Call {
                model: Some(&initialised.model),
                rendered,
                details: &details,
                ..Call::new(Stage::Deploy, &initialised.configuration)
            };
            let response = call.run(self, position, &mut findings);
            overlay(&mut details, &response.details);
            if findings.iter().any(Finding::is_fatal) {
                break;
            }
        }
        Outcome::new(findings, Deployed { details })
    }

    /// Runs validate: the output of deploy and the configuration in; findings out.
    pub fn validate(
        &self,
        initialised: &Initialised,
        rendered: &Rendered,
        deployed: &Deployed,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for position in 0..self.plugins.len() {
            let details = &deployed.details;
            let call = Call {
                model: Some(&initialised.model),
                rendered,
                details,
                ..Call::new(Stage::Validate, &initialised.configuration)
            };
            call.run(self, position, &mut findings);
        }
        Outcome::new(findings, ()).findings
    }
}

/// Parses a contribution of a plugin, which cannot name another owner.
fn owned(owner: &Owner, mut contribution: Map<String, Value>) -> Result<Contribution, String> {
    if contribution.contains_key("owner") {
        return Err(
            "a contribution names an owner; the owner is always the plugin itself".to_owned(),
        );
    }
    contribution.insert("owner".to_owned(), Value::String(owner.to_string()));
    let parsed = Contribution::try_from(contribution);
    parsed.map_err(|error| {
        format!(
            "invalid contribution: {}",
            crate::nearest::with_suggestion(&error.to_string())
        )
    })
}
