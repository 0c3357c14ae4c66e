//! The port through which the lifecycle of clusters reaches machines, so that its tests can use a fake.

use std::fmt;

use futures::future::BoxFuture;

use crate::{
    AttemptId, AttemptOutcome, Command, CopyError, CopyReport, Facts, Machine, Output, RunError,
    Tree,
};

/// What can be done on a machine. The methods are those of [`Machine`].
pub trait Host: Send + Sync + fmt::Debug {
    fn name(&self) -> &str;

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, RunError>>;

    fn run_attempt<'a>(
        &'a self,
        attempt: &'a AttemptId,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<AttemptOutcome, RunError>>;

    fn cancel_attempt<'a>(
        &'a self,
        attempt: &'a AttemptId,
    ) -> BoxFuture<'a, Result<AttemptOutcome, RunError>>;

    fn copy<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<CopyReport, CopyError>>;

    fn facts(&self) -> BoxFuture<'_, Result<Facts, RunError>>;
}

impl Host for Machine {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, RunError>> {
        Box::pin(Self::run(self, command))
    }

    fn run_attempt<'a>(
        &'a self,
        attempt: &'a AttemptId,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<AttemptOutcome, RunError>> {
        Box::pin(Self::run_attempt(self, attempt, command))
    }

    fn cancel_attempt<'a>(
        &'a self,
        attempt: &'a AttemptId,
    ) -> BoxFuture<'a, Result<AttemptOutcome, RunError>> {
        Box::pin(Self::cancel_attempt(self, attempt))
    }

    fn copy<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<CopyReport, CopyError>> {
        Box::pin(Self::copy(self, tree))
    }

    fn facts(&self) -> BoxFuture<'_, Result<Facts, RunError>> {
        Box::pin(Self::facts(self))
    }
}
