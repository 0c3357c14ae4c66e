//! Helm charts: load, dependencies, values, schema, render, package. Bytes in, text out.
//!
//! Everything is pure except [`load_path`] and [`open_path`], which read a folder or an archive. A [`Profile`] says which Helm
//! the result must be identical to. Errors print Helm's own text, as it stands after `Error: `.

mod address;
pub mod capabilities;
pub mod chart;
pub mod charts_folder;
mod coalesce;
mod context;
mod decode;
pub mod dependencies;
pub mod error;
mod files;
mod glob;
mod go_io;
pub mod images;
pub mod lint;
pub mod load;
pub mod lock;
pub mod manifest;
pub mod metadata;
mod metadata_yaml;
pub mod package;
mod parse_ahead;
pub mod plain;
pub mod print;
pub mod profile;
pub mod render;
pub mod resolve;
pub mod schema;
pub mod settled;
pub mod show;
mod tree;
pub mod values;
mod version;
mod yaml;

pub use capabilities::{Capabilities, KubeVersion};
pub use chart::{Chart, Crd, File};
pub use context::Release;
pub use error::Error;
pub use load::{from_archive, from_files, load_path, open_path};
pub use manifest::{Manifest, hook::Hook};
pub use metadata::{Dependency, Lock, Metadata};
pub use parse_ahead::{parse_ahead, template_bytes};
pub use print::{PrintOptions, print_template, release_manifest};
pub use profile::Profile;
pub use render::{RenderOptions, Rendered, render, render_cached};
pub use values::ValuesOptions;
