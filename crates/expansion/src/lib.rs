//! Expansion packages: what a delivery engineer carries to a site to extend a cluster.
//!
//! ```text
//! folder ───────────────scan→ Scanned ─Package::read→ Package ─┬─verify→ findings
//! built package ─archive::Reader─┘                             └─merge(base configuration)→ effective configuration, or conflicts
//! folder, images ─build::plan→ Plan ─write→ built package
//! ```
//!
//! `scan`, `archive`, `build`, `contents::source`, `extract` and `artifact` access the file system, `build` and `artifact` registries. Everything
//! else is pure. Nothing is executed or installed: that is for the crate `installer`.

pub mod archive;
pub mod artifact;
pub mod build;
mod built;
pub mod combine;
pub mod contents;
mod definition;
mod diff;
mod extract;
mod finding;
mod layout;
mod lock;
pub mod merge;
mod package;
mod progress;
mod root;
pub mod scan;
pub mod signature;
mod starter;
pub mod template;
mod verify;

pub use archive::resign;
pub use built::{Built, OpenError, Opened, find_built, open};
pub use definition::{
    At, DEFINITION, Definition, EXTRA_ARGS, ExtraArgs, FileEntry, HookChoice, Requires, SCHEMA,
    Text, VALUES,
};
pub use diff::{Amount, Change, Difference, Kind, carried, diff};
pub use extract::{ExtractError, extract};
pub use finding::{Finding, Severity};
pub use lock::{EntryKind, Lock, LockedEntry};
pub use merge::merge;
pub use package::{Package, PackagedFile};
pub use progress::Progress;
pub use root::{Base, DocumentError, FORMAT, Locked, Root};
pub use scan::{Scanned, scan};
pub use starter::{StarterFile, starter};
pub use verify::{verify, verify_sources, verify_with};
