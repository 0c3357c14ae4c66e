//! Why a chart cannot be rendered. The messages are Helm's, without the prefix `Error: `.

use std::any::Any;

use outrigger_gotmpl::{ExecError, ParseError};

use crate::profile::Profile;
use crate::{coalesce, dependencies, load, manifest, print, schema, values};

/// What `helm template` adds to errors that come from rendering.
const DEBUG_HINT: &str = "\n\nUse --debug flag to render out invalid YAML";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Load(#[from] load::Error),
    #[error(transparent)]
    Values(#[from] values::Error),
    #[error("{0} charts are not installable")]
    NotInstallable(String),
    #[error("{prefix}{source}")]
    Missing {
        prefix: &'static str,
        source: dependencies::Missing,
    },
    #[error("{prefix}release name {}: {reason}", outrigger_gostd::strconv::quote(.name))]
    ReleaseName {
        prefix: &'static str,
        name: String,
        reason: String,
    },
    #[error(transparent)]
    Dependencies(#[from] dependencies::Error),
    #[error(transparent)]
    Coalesce(#[from] coalesce::Error),
    #[error(transparent)]
    Schema(#[from] schema::Error),
    #[error("chart requires kubeVersion: {range} which is incompatible with Kubernetes {version}")]
    KubeVersion { range: String, version: String },
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    #[error(transparent)]
    NotFound(#[from] print::NotFound),
    /// A bug in the engine.
    #[error("render panicked: {0}")]
    Panicked(String),
}

impl Error {
    /// The error for the payload of a panic.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(text.unwrap_or("unknown cause").to_owned())
    }

    /// The message of `helm template`, which adds a hint to errors of rendering.
    pub fn template_text(&self) -> String {
        match self {
            Self::KubeVersion { .. } | Self::Template(_) | Self::Manifest(_) => {
                format!("{self}{DEBUG_HINT}")
            }
            _ => self.to_string(),
        }
    }
}

/// An error of parsing or executing a template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("{}", .0.helm_text())]
    Parse(ParseError),
    /// A `--name-template` that does not parse, with Go's message.
    #[error("{0}")]
    Name(ParseError),
    #[error("parsed templates need more than {0} bytes of memory")]
    Memory(usize),
    /// The message of the Helm version that the profile selects.
    #[error("{0}")]
    Exec(String),
}

impl TemplateError {
    pub(crate) fn exec(error: &ExecError, profile: Profile) -> Self {
        Self::Exec(match profile {
            Profile::Helm3 => error.helm3_text(),
            Profile::Helm4 => error.helm4_text(),
        })
    }
}
