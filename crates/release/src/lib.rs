//! Helm releases: plan, apply, prune, health, history, rollback, drift.
//!
//! Release records, labels, annotations and the field manager are Helm's, so Helm can operate on releases made here and
//! vice versa.
//!
//! ```text
//! load_history ─► render         ─► Desired ─► observe ─► Observed ─► plan (pure) ─► Plan ─► execute ─► Outcome
//!                 from_manifests                                        │
//!                                                                       └ Display, Serialize
//! ```
//!
//! - [`load_history`]`(&Cluster, &ReleaseId) -> Result<History, Error>`
//! - [`render`]`(&Cluster, &History, &Arc<Chart>, &Map<String, Value>, &RenderOptions) -> Result<Desired, Error>`
//! - [`from_manifests`]`(&Cluster, &History, ChartSummary, Vec<Value>) -> Result<Desired, Error>`
//! - [`Desired`]: `objects()`, `hooks()`, `notes()`, `images()`, `relocate_images(&mut self, registry)`
//! - [`observe`]`(&Cluster, History, &Desired) -> Result<Observed, Error>`: one read per object
//! - [`plan`]`(Desired, Observed, &Options) -> Result<Plan, Rejection>`: pure
//! - [`execute`]`(&Cluster, Plan, &Options, Sink) -> Result<Outcome, ActionError>`: one write per changed object
//! - [`dry_run`]`(&Cluster, &Plan, &Options) -> Result<(), ActionError>`: what the API server would refuse
//! - [`uninstall`]`(&Cluster, &ReleaseId, &[ObjectId], &Options, Sink) -> Result<UninstallOutcome, ActionError>`
//! - [`rollback`]`(&Cluster, &ReleaseId, Option<u32>, &Options, Sink) -> Result<Outcome, ActionError>`
//! - [`list_revisions`]`(&Cluster, &ReleaseId) -> Result<Vec<Revision>, Error>`
//! - [`get_release`]`(&Cluster, &ReleaseId, Option<u32>) -> Result<Record, Error>`
//! - [`health::assess`]`(&Value, &Rules) -> Health`: pure; [`health::wait`] uses watches
//! - [`drift::detect`]`(&Object, Option<&Value>) -> Option<Drift>`: pure; [`drift::detect_in_release`] reads the cluster
//!
//! Futures may be dropped at any point: the pending release record lets the next run resume.

mod action;
mod action_error;
mod cluster;
mod desired;
pub mod drift;
mod dry_run;
mod error;
mod execute;
pub mod health;
mod history;
mod id;
mod leftovers;
mod managed_fields;
mod observe;
mod options;
mod ownership;
mod plan;
pub mod progress;
mod record;
mod render;
mod rollback;
#[cfg(test)]
mod send;
mod storage;
mod uninstall;
mod verdict;

pub use action::Action;
pub use action_error::{ActionError, HookError};
pub use cluster::{Cluster, ExistenceCache};
pub use desired::{Desired, Object, from_manifests};
pub use drift::Drift;
pub use dry_run::dry_run;
pub use error::{Error, is_transient};
pub use execute::{InventoryEntry, Outcome, execute};
pub use health::{Health, Rule, Rules};
pub use history::{
    History, PendingOperation, Revision, get_release, list_revisions, load_history,
    load_history_cached, read_unlisted_revision,
};
pub use id::{ObjectId, ReleaseId};
pub use leftovers::leftovers;
pub use managed_fields::{FieldChange, owned_values};
pub use observe::{Observed, observe};
pub use options::{Conflicts, CrdPolicy, Options};
pub use plan::{Change, HookStep, Plan, Rejection, Step, plan};
pub use progress::Progress;
pub use record::secret::{is_own_record, name as record_name};
pub use record::{
    ChartSummary, DecodeError, Hook, HookExecution, Info, Record, Status, StoredChart,
};
pub use render::{RenderOptions, render};
pub use rollback::{plan_rollback, repair, rollback};
pub use uninstall::{KeptObject, UninstallOutcome, uninstall};
pub use verdict::{Verdict, record_verdict};
