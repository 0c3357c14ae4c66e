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
//! - [`render`]`(&Cluster, &Past, Arc<Chart>, Map<String, Value>, Crds) -> Result<Desired, Error>`
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

