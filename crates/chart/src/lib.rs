//! Helm charts: load, dependencies, values, schema, render, package. Bytes in, text out.
//!
//! Everything is pure except [`load_path`] and [`load_path_lazily`], which read a folder or an archive. A [`Profile`]
//! selects the Helm version whose results are reproduced. The messages of errors are Helm's, without the prefix
//! `Error: `.

pub mod capabilities;
pub mod chart;
mod chart_tree;
mod coalesce;
mod context;
mod decode;
pub mod dependencies;
pub mod dependency_list;
mod dns_name;
pub mod error;
mod files;
mod glob;
mod go_io;
mod go_struct;
mod govalidator;
pub mod images;
pub mod lint;
pub mod load;
pub mod lock;
pub mod manifest;
pub mod metadata;
mod metadata_yaml;
pub mod package;
mod preparse;
pub mod print;
pub mod processed_chart;
pub mod profile;
pub mod render;
pub mod resolve;
pub mod schema;
pub mod show;
mod template_value;
pub mod values;
pub mod version;
mod yaml;
pub mod yaml_value;

pub use capabilities::{Capabilities, KubeVersion};
pub use chart::{Chart, Crd, File};
pub use context::{Operation, Release};
pub use error::Error;
pub use load::{from_archive, from_files, load_path, load_path_lazily};
pub use manifest::{Manifest, hook::Hook};
pub use metadata::{Dependency, Lock, Metadata};
pub use preparse::{preparse, template_bytes};
pub use print::{PrintOptions, print_template, release_manifest};
pub use profile::Profile;
pub use render::{RenderOptions, Rendered, render, render_cached};
pub use template_value::template_value;
pub use values::ValuesOptions;
