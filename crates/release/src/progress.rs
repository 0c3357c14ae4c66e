//! What is told while a release is worked on.

use crate::action::Action;
use crate::id::ObjectId;

/// One step that was made, or what is waited for. Never has values of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The record of the revision is written; from now on a kill leaves an inventory.
    Recorded {
        action: Action,
        revision: u32,
    },
    /// A definition of the folder `crds` is there and established.
    Defined {
        object: ObjectId,
    },
    /// A hook starts.
    HookStarted {
        event: &'static str,
        object: ObjectId,
    },
    HookEnded {
        event: &'static str,
        object: ObjectId,
        succeeded: bool,
    },
    /// So many of so many objects are as they should be.
    Applied {
        object: ObjectId,
        done: usize,
        total: usize,
    },
    /// An object that is no longer wanted is gone, or about to go.
    Removed {
        object: ObjectId,
    },
    /// Not healthy yet, or not gone yet, and why.
    Waiting {
        object: ObjectId,
        message: String,
    },
    Healthy {
        object: ObjectId,
    },
    /// It failed, and goes back to this revision; to nothing if it was an installation.
    RollingBack {
        to: Option<u32>,
    },
}

/// Where progress goes.
pub type Sink<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// For those who do not want to know.
pub fn ignore(_: Progress) {}
