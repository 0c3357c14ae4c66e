//! Progress events of an action.

use crate::action::Action;
use crate::id::ObjectId;

/// A completed step, or what the action waits for. Never contains values of Secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The pending release record is written; an interrupted run can be resumed from now on.
    RecordWritten {
        action: Action,
        revision: u32,
    },
    /// A CRD of the chart's `crds` directory is established.
    CrdEstablished {
        object: ObjectId,
    },
    HookStarted {
        event: &'static str,
        object: ObjectId,
    },
    HookFinished {
        event: &'static str,
        object: ObjectId,
        succeeded: bool,
    },
    /// `done` of `total` objects are applied.
    Applied {
        object: ObjectId,
        done: usize,
        total: usize,
    },
    /// The API server accepted the deletion; finalizers may still run.
    Deleted {
        object: ObjectId,
    },
    /// Waits for an object to become ready, or to be deleted.
    Waiting {
        object: ObjectId,
        message: String,
    },
    Healthy {
        object: ObjectId,
    },
    /// The action failed and is rolled back to this revision; uninstalled if there is none.
    RollingBack {
        to: Option<u32>,
    },
}

pub type Sink<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// A sink that discards all progress.
pub fn ignore(_: Progress) {}
