//! A plugin, and the one interface through which the pipeline calls plugins of all kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use outrigger_model::{Model, Owner, PoolName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::finding::Finding;
use crate::stage::{Rendered, RenderedFile, Stage, Template};

/// A plugin of any kind.
#[derive(Debug)]
pub struct Plugin {
    pub metadata: Metadata,
    /// Default values.
    pub defaults: Map<String, Value>,
    /// The JSON schema of the values. Without one, the defaults are the schema: other keys are unknown.
    pub schema: Option<Value>,
    pub body: Box<dyn Staged>,
}

/// What is known about a plugin before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    pub name: Owner,
    pub version: String,
    pub description: String,
    pub origin: Origin,
    /// Whether it is enabled unless `cluster.yaml` disables it.
    pub enabled_by_default: bool,
    /// Plugins that must be enabled and run before this one.
    pub requires: BTreeSet<Owner>,
    /// Plugins that run before this one if they are enabled.
    pub after: BTreeSet<Owner>,
    /// The keys in `cluster.yaml`; the first is the usual one.
    pub keys: Vec<String>,
}

impl Metadata {
    /// Metadata of a plugin that nothing else is known about.
    pub fn new(name: Owner, version: impl Into<String>, origin: Origin) -> Self {
        let mut keys = vec![lower_camel_case(name.as_str()), name.to_string()];
        keys.dedup();
        Self {
            name,
            version: version.into(),
            description: String::new(),
            origin,
            enabled_by_default: false,
            requires: BTreeSet::new(),
            after: BTreeSet::new(),
            keys,
        }
    }

    /// The key of the plugin in `cluster.yaml`, such as `kube2iam` or `clusterAutoscaler`.
    pub fn key(&self) -> &str {
        self.keys.first().map_or(self.name.as_str(), String::as_str)
    }
}

/// Where a plugin comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// Part of the binary, and tested with it.
    Builtin,
    /// Part of the binary, but less tested.
    Contrib,
    /// From a folder of the user.
    User,
}

/// `aws-iam-authenticator` becomes `awsIamAuthenticator`.
fn lower_camel_case(name: &str) -> String {
    let mut upper = false;
    let mut key = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' => upper = true,
            c if upper => {
                key.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => key.push(c),
        }
    }
    key
}

/// The interface of plugins.
pub trait Staged: fmt::Debug + Send + Sync {
    /// Runs one stage. A plugin that has nothing to do in a stage returns the default.
    fn run(&self, request: &Request<'_>) -> Result<Response, Failure>;
}

/// What a plugin gets. Everything is about the whole cluster, except its own values.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub stage: Stage,
    pub plugin: &'a Metadata,
    /// The whole configuration, with the values of all plugins.
    pub configuration: &'a Value,
    /// Its values, if it is enabled for the cluster.
    pub values: Option<&'a Map<String, Value>>,
    /// Its values in the node pools for which it is enabled.
    pub pools: &'a BTreeMap<PoolName, Map<String, Value>>,
    /// All contributions of all plugins; from render on.
    pub model: Option<&'a Model>,
    /// What earlier plugins rendered; complete in deploy and validate.
    pub rendered: &'a Rendered,
    /// Details of the deployed stacks; in validate, and in deploy from earlier plugins.
    pub details: &'a Map<String, Value>,
}

impl Request<'_> {
    /// A text of the configuration, or nothing.
    pub fn setting(&self, key: &str) -> &str {
        self.configuration
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// What a plugin returns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Response {
    /// In every stage.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Initialised values, which are added to its values; in initialise.
    #[serde(default)]
    pub values: Map<String, Value>,
    /// Contributions without their owner; in initialise.
    #[serde(default)]
    pub contributions: Vec<Map<String, Value>>,
    /// Templates; in render.
    #[serde(default)]
    pub templates: Vec<Template>,
    /// Files; in render.
    #[serde(default)]
    pub files: Vec<RenderedFile>,
    /// Details such as endpoints; in deploy.
    #[serde(default)]
    pub details: Map<String, Value>,
}

impl Response {
    /// The first field that the stage does not have.
    pub(crate) fn misplaced(&self, stage: Stage) -> Option<&'static str> {
        let fields = [
            ("values", !self.values.is_empty(), Stage::Initialise),
            (
                "contributions",
                !self.contributions.is_empty(),
                Stage::Initialise,
            ),
            ("templates", !self.templates.is_empty(), Stage::Render),
            ("files", !self.files.is_empty(), Stage::Render),
            ("details", !self.details.is_empty(), Stage::Deploy),
        ];
        let misplaced = fields
            .into_iter()
            .find(|(_, is_used, allowed)| *is_used && *allowed != stage);
        misplaced.map(|(name, _, _)| name)
    }
}

/// Why a plugin failed: a message for the finding that becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

impl Failure {
    /// Wraps any error, with its causes.
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }
}
