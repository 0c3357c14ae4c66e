//! Executable plugins: a program that reads a request from stdin and writes a response to stdout, both JSON.
//!
//! The request is `{"version": "v1", "stage", "plugin": {"name", "version"}, "configuration", "values", "pools",
//! "contributions", "rendered", "details"}`; the response is [`Response`]. `docs/stack-plugins.md` documents both. The
//! program runs in the folder of the plugin, with an environment that holds nothing of the caller but `PATH`.

mod process;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use outrigger_model::{Contribution, Model, PoolName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::nearest::with_suggestion;
use crate::plugin::{Failure, Request, Response};
use crate::stage::{Rendered, Stage};
use process::{Limits, run};

/// The version of the protocol.
pub const PROTOCOL_VERSION: &str = "v1";

/// `spec.executable` of `plugin.yaml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutableSpec {
    /// The program, relative to the folder of the plugin, and its arguments.
    pub command: Vec<String>,
    /// The stages in which it runs; all by default.
    #[serde(default = "all_stages")]
    pub stages: Vec<Stage>,
    /// The time it has in each stage; 60 by default, one hour at most.
    #[serde(default = "default_timeout")]
    pub timeout_seconds: u64,
}

fn all_stages() -> Vec<Stage> {
    Stage::ALL.to_vec()
}

const fn default_timeout() -> u64 {
    60
}

/// An executable plugin.
#[derive(Debug)]
pub struct Executable {
    folder: PathBuf,
    program: PathBuf,
    arguments: Vec<String>,
    stages: Vec<Stage>,
    limits: Limits,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireRequest<'a> {
    version: &'static str,
    stage: Stage,
    plugin: WirePlugin<'a>,
    configuration: &'a Value,
    values: Option<&'a Map<String, Value>>,
    pools: &'a BTreeMap<PoolName, Map<String, Value>>,
    contributions: Vec<Contribution>,
    rendered: &'a Rendered,
    details: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct WirePlugin<'a> {
    name: &'a str,
    version: &'a str,
}

impl Executable {
    /// Checks the specification. The program must be in the folder of the plugin.
    pub fn new(folder: &Path, spec: &ExecutableSpec) -> Result<Self, String> {
        let Some((program, arguments)) = spec.command.split_first() else {
            return Err("spec.executable.command is empty".to_owned());
        };
        let folder = fs_err::canonicalize(folder).map_err(|error| error.to_string())?;
        let path = fs_err::canonicalize(folder.join(program)).map_err(|error| error.to_string())?;
        if !path.starts_with(&folder) {
            return Err(format!("{program:?} is outside of the plugin's folder"));
        }
        if !(1..=3600).contains(&spec.timeout_seconds) {
            return Err("spec.executable.timeoutSeconds must be between 1 and 3600".to_owned());
        }
        let limits = Limits {
            time: Duration::from_secs(spec.timeout_seconds),
            ..Limits::default()
        };
        Ok(Self {
            folder,
            program: path,
            arguments: arguments.to_vec(),
            stages: spec.stages.clone(),
            limits,
        })
    }

    /// Runs the program for one stage.
    pub fn run(&self, request: &Request<'_>) -> Result<Response, Failure> {
        if !self.stages.contains(&request.stage) {
            return Ok(Response::default());
        }
        let wire = WireRequest {
            version: PROTOCOL_VERSION,
            stage: request.stage,
            plugin: WirePlugin {
                name: request.plugin.name.as_str(),
                version: &request.plugin.version,
            },
            configuration: request.configuration,
            values: request.values,
            pools: request.pools,
            contributions: request.model.map(Model::contributions).unwrap_or_default(),
            rendered: request.rendered,
            details: request.details,
        };
        let input = serde_json::to_vec(&wire).map_err(|error| Failure::from_error(&error))?;
        let output = run(
            &self.program,
            &self.arguments,
            &self.folder,
            input,
            &self.limits,
        );
        let output = output.map_err(|error| Failure::from_error(&error))?;
        serde_json::from_slice(&output).map_err(|error| {
            Failure(format!(
                "the program printed an invalid response: {}",
                with_suggestion(&error.to_string())
            ))
        })
    }
}

#[cfg(test)]
mod tests;
