//! The port to machines. `node` implements it over SSH; tests have a fake.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use outrigger_api::machine::{MachineAccess, MachineFacts};
use outrigger_node::Tree;

mod jumps;
mod ssh;

pub(crate) use ssh::credentials;
pub use ssh::{Ssh, local};

/// A program to run on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// An absolute path.
    pub program: String,
    /// Each reaches the program as one argument, whatever it contains.
    pub arguments: Vec<String>,
    pub environment: BTreeMap<&'static str, String>,
    /// Written to a file whose path is in `OUTRIGGER_CONTEXT`.
    pub context: String,
    pub timeout: Duration,
}

/// Shell text to run on a machine, as root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub text: String,
    pub timeout: Duration,
}

/// The end of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    pub text: String,
    pub is_truncated: bool,
}

/// How an attempt ended on its machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Exited {
        code: i32,
        output: Output,
    },
    /// It was ended after this timeout, which it began with.
    TimedOut {
        after: Duration,
        output: Output,
    },
    Canceled,
    /// The machine rebooted, or what supervised the attempt was killed.
    Lost {
        output: Output,
    },
}

/// What tells machines apart that have one host key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineIds {
    /// What the kernel drew at random when the machine booted.
    pub boot: String,
    /// Identifies the installation of the operating system. Empty if it has none.
    pub machine: String,
}

/// A machine cannot be used, or does not do what it is asked for. Never contains credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    pub message: String,
}

/// A machine.
pub trait Remote: Debug + Send + Sync {
    /// Runs a command once for an attempt at a task, or returns how it ended when it ran for this attempt. All other
    /// attempts at the task are ended before.
    fn run<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>>;

    /// Like [`Self::run`], for shell text.
    fn run_script<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
        script: &'a Script,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>>;

    /// Runs shell text that may run any number of times, and returns what it prints. Leaves no record on the machine. Fails
    /// if the exit code is not 0.
    fn query<'a>(&'a self, script: &'a Script) -> BoxFuture<'a, Result<String, RemoteError>>;

    /// Ends an attempt. If it has not begun, it never will.
    fn cancel<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>>;

    /// Makes files on the machine as they are in the tree. Unchanged ones are not copied.
    fn copy<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<(), RemoteError>>;

    /// Removes the files of a tree, and folders that were made for them. Missing ones are not an error.
    fn remove<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<(), RemoteError>>;

    /// Removes the records of all attempts at tasks that are never attempted again.
    fn forget<'a>(&'a self, tasks: &'a [String]) -> BoxFuture<'a, Result<(), RemoteError>>;

    fn facts(&self) -> BoxFuture<'_, Result<MachineFacts, RemoteError>>;

    fn ids(&self) -> BoxFuture<'_, Result<MachineIds, RemoteError>>;

    /// The host key that the machine presented.
    fn host_key(&self) -> Option<String>;

    /// The host key of the jump host, if there is one.
    fn jump_host_key(&self) -> Option<String> {
        None
    }
}

/// How to log in to a machine: the access of its spec with the credentials of its Secret, and the recorded host keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    pub access: MachineAccess,
    pub host_key: Option<String>,
    /// The recorded key of the jump host, which the one in its spec overrides.
    pub jump_host_key: Option<String>,
    /// Whether a recorded key was removed, so that the keys of open connections do not count.
    pub is_key_removed: bool,
}

/// Opens connections to machines.
pub trait Connect: Debug + Send + Sync {
    /// A machine. It is connected to when it is used.
    fn connect(&self, login: &Login) -> Result<Arc<dyn Remote>, RemoteError>;
}
