//! Releases: what a chart yields is planned, applied, watched until healthy, kept in history, and taken away again.
//! Records are Helm's own, so Helm can go on with our releases and we with Helm's.
//!
//! ```text
//! past ──────► render ─► Desired ─► observe ─► Observed ─► plan (pure) ─► Plan ─► execute ─► Outcome
//! (records)    from_manifests                                              │
//!                                                                          └ Display, Serialize
//! ```
//!
//! - [`past`]`(&Cluster, &ReleaseId) -> Result<Past, Error>`: the records that count
//! - [`render`]`(&Cluster, &Past, &Arc<Chart>, &Map<String, Value>, &Rendering) -> Result<Desired, Error>`
//! - [`from_manifests`]`(&Cluster, &Past, Title, Vec<Value>) -> Result<Desired, Error>`
//! - [`Desired`]: `objects()`, `hooks()`, `notes()`, `images()`, `relocate_images(&mut self, registry)`
//! - [`observe`]`(&Cluster, Past, &Desired) -> Result<Observed, Error>`: one read for each object
//! - [`plan`]`(Desired, Observed, &Options) -> Result<Plan, Refusal>`: pure
//! - [`execute`]`(&Cluster, Plan, &Options, Sink) -> Result<Outcome, Failure>`: one write for each changed object
//! - [`uninstall`]`(&Cluster, &ReleaseId, &[ObjectId], &Options, Sink) -> Result<Removed, Failure>`
//! - [`rollback`]`(&Cluster, &ReleaseId, Option<u32>, &Options, Sink) -> Result<Outcome, Failure>`
//! - [`history`]`(&Cluster, &ReleaseId) -> Result<Vec<Revision>, Error>`
//! - [`release`]`(&Cluster, &ReleaseId, Option<u32>) -> Result<Record, Error>`
//! - [`health::assess`]`(&Value, &Rules) -> Health`: pure; [`health::wait`] by watches
//! - [`drift::find`]`(&Object, Option<&Value>) -> Option<Drift>`: pure; [`drift::look`] asks the cluster
//!
//! Futures may be dropped at any point: what was begun stands in a record and is taken over by the next run.

mod action;
#[cfg(test)]
mod any_thread;
mod cluster;
mod desired;
pub mod drift;
mod error;
mod execute;
mod failure;
mod fields;
pub mod health;
mod id;
mod observe;
mod options;
mod ownership;
mod past;
mod plan;
pub mod progress;
mod record;
mod render;
mod rollback;
mod storage;
mod uninstall;

pub use action::Action;
pub use cluster::{Cluster, Presence};
pub use desired::{Desired, Image, Object, from_manifests};
pub use drift::Drift;
pub use error::Error;
pub use execute::{Entry, Outcome, execute};
pub use failure::{Failure, HookFailure};
pub use fields::FieldChange;
pub use health::{Health, Rule, Rules};
pub use id::{ObjectId, ReleaseId};
pub use observe::{Observed, observe};
pub use options::{Crds, Options};
pub use past::{Past, Pending, Revision, history, past, past_if_seen, release};
pub use plan::{Change, HookStep, Plan, Refusal, Step, plan};
pub use progress::Progress;
pub use record::{Hook, Info, LastRun, Record, Status, StoredChart, Title};
pub use render::{Rendering, render};
pub use rollback::{plan_rollback, rollback};
pub use uninstall::{Kept, Removed, uninstall};
