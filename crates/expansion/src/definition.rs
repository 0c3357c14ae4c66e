//! `expansion.yaml`: what a package contains, and where it goes. Every text knows its line.
//!
//! The keys are those of TKEStack's expansion framework, and `name`, `version`, `requires`, `create_cluster_extra_args`
//! and `plugins`. [`Definition::read`] reports everything that is wrong with the file itself; whether it agrees with the
//! folder is for `verify`.

mod fields;
mod read;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use read::EXTRA_ARGS;
pub(crate) use read::{invalid_yaml, parse_strict};

/// The name of the file.
pub const DEFINITION: &str = "expansion.yaml";

/// The file with values of the package.
pub const VALUES: &str = "values.yaml";

/// The JSON schema of the values.
pub const SCHEMA: &str = "values.schema.json";

/// A value, and the line that it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    pub line: usize,
    pub value: T,
}

/// A text of `expansion.yaml`.
pub type Text = At<String>;

/// `expansion.yaml`. Missing keys are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    pub name: Option<Text>,
    pub version: Option<Text>,
    pub requires: Requires,
    /// Charts, relative to `charts/`: folders and archives.
    pub charts: Vec<Text>,
    /// References of images.
    pub images: Vec<Text>,
    pub files: Vec<At<FileEntry>>,
    /// Hooks of the installer, which are files of `hooks/`.
    pub hooks: Vec<Text>,
    /// Files that replace those of the provider, relative to `provider/`.
    pub provider: Vec<Text>,
    /// Manifests of plugins, relative to `plugins/`.
    pub plugins: Vec<Text>,
    pub installer_skip_steps: Vec<Text>,
    pub create_cluster_skip_conditions: Vec<Text>,
    pub create_cluster_delegate_conditions: Vec<Text>,
    pub create_cluster_extra_args: ExtraArgs,
    /// The operator of delegated steps: an image, or a program in `operator/`.
    pub operator: Option<Text>,
    /// Override those of `values.yaml`.
    pub values: Map<String, Value>,
    /// Whether the registry has the images already, so that the package need not carry them.
    pub images_loaded: bool,
    /// Whether the package applies to the first cluster only.
    pub disable_pass_through_to_platform: bool,
}

/// What a package needs, as version ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requires {
    pub outrigger: Option<Text>,
    pub kubernetes: Option<Text>,
}

/// Arguments of components, by the key of the component.
pub type ExtraArgs = BTreeMap<&'static str, BTreeMap<String, Text>>;

/// An entry of `files`. A path alone is an entry with this `src`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileEntry {
    /// A file or folder, relative to `files/`.
    pub src: String,
    /// The path on the machines. Default: `/` and `src`.
    pub dst: Option<Text>,
    /// Permission bits. Default: those of the file, and executable for hooks.
    pub mode: Option<At<u32>>,
    /// The hook that the file is bound to.
    pub hook: Option<At<HookChoice>>,
    /// Whether a system path may be replaced.
    pub force: bool,
    /// Whether the file is a template. By default every text is.
    pub render: Option<At<bool>>,
}

/// What `hook` of a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookChoice {
    /// No hook, although the file has the name of one.
    None,
    Named(String),
}
