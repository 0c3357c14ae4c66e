//! The stages, and what render produces.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A stage of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    Initialise,
    Render,
    Deploy,
    Validate,
}

impl Stage {
    pub const ALL: [Self; 4] = [Self::Initialise, Self::Render, Self::Deploy, Self::Validate];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Initialise => "initialise",
            Self::Render => "render",
            Self::Deploy => "deploy",
            Self::Validate => "validate",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The output of the render stage. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rendered {
    /// CloudFormation templates, the root first.
    #[serde(default)]
    pub templates: Vec<Template>,
    /// Other files: user data, manifests, releases, files for the bucket.
    #[serde(default)]
    pub files: Vec<RenderedFile>,
}

/// A CloudFormation template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Template {
    /// The name of the stack, which is also the name of the file.
    pub name: String,
    pub body: Value,
}

/// A rendered file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenderedFile {
    /// The path below the output folder.
    pub path: String,
    pub content: String,
}
