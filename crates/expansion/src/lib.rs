//! Expansion packages: what a delivery engineer carries to a site to extend a cluster.
//!
//! ```text
//! folder ─scan→ Scanned ─Package::read→ Package ─┬─verify→ findings
//!                                                └─merge(base configuration)→ effective configuration, or conflicts
//! ```
//!
//! Only `scan` accesses the file system. Everything else is pure. Nothing is executed, installed or sent: that is for
//! the installer, which does not exist yet.

mod definition;
mod finding;
mod layout;
pub mod merge;
mod package;
pub mod scan;
mod starter;
pub mod template;
mod verify;

pub use definition::{
    At, DEFINITION, Definition, EXTRA_ARGS, ExtraArgs, FileEntry, HookChoice, Requires, Text,
    VALUES,
};
pub use finding::{Finding, Severity};
pub use merge::merge;
pub use package::{Package, PackagedFile};
pub use scan::{Scanned, scan};
pub use starter::{StarterFile, starter};
pub use verify::verify;
