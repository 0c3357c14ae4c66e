//! Staged plugins: initialise → render → deploy → validate.
//!
//! ```text
//! cluster.yaml ─Configuration─┐
//! plugins ─Catalog─ order ────┴→ Pipeline ─initialise→ Initialised ─render→ Rendered ─deploy→ Deployed ─validate→ findings
//!                                              │files for git            │files for git
//! ```
//!
//! A stage runs for all plugins before the next one begins. A plugin is data (`data`), an executable (`executable`) or
//! compiled in (`builtin`); the pipeline calls all of them through [`Staged`] and knows none of them by name.

pub mod builtin;
pub mod catalog;
pub mod check;
pub mod configuration;
pub mod data;
pub mod executable;
mod finding;
mod folder;
mod nearest;
mod order;
pub mod pipeline;
mod plugin;
mod stage;
pub mod stage_files;
mod template;
mod values;

pub use finding::{Finding, Severity};
pub use folder::{Folder, FolderError};
pub use order::{OrderError, sort};
pub use plugin::{Failure, Metadata, Origin, Plugin, Request, Response, Staged};
pub use stage::{Rendered, RenderedFile, Stage, Template};
