//! The only one who changes the store: takes all mutations that wait, makes them durable with one commit, makes
//! them visible, and answers. While a commit is on its way to the disk the next group gathers.
//!
//! It is a thread of its own, because a commit blocks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::disk::{Disk, StorageError};
use super::mutation::{Mutation, WriteError, Written};
use super::plan::Plan;
use super::shared::Shared;
use crate::watch::Event;

/// Most mutations in one commit.
const GROUP: usize = 1024;

/// How long the writer sleeps while it waits for more mutations. It stops when a sleep brought none.
const PAUSE: Duration = Duration::from_micros(50);

/// Most time that a group may wait for more mutations.
const MAX_PATIENCE: Duration = Duration::from_millis(2);

/// What a caller is told.
type Outcome = Result<Written, WriteError>;

/// What handles send to the writer.
#[derive(Debug)]
pub(super) enum Command {
    Write(Request),
    /// Do what was sent before, then end.
    Close,
}

/// A mutation and who waits for it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) mutation: Mutation,
    pub(super) reply: oneshot::Sender<Outcome>,
}

#[derive(Debug)]
pub(super) struct Writer {
    commands: mpsc::Receiver<Command>,
    shared: Arc<Shared>,
    disk: Disk,
    /// The last revision that was assigned. Those of failed groups are not used again.
    revision: u64,
    /// How many mutations the next group can hope for.
    expected: usize,
    /// How long it may wait for them.
    patience: Duration,
}

impl Writer {
    pub(super) fn new(commands: mpsc::Receiver<Command>, shared: Arc<Shared>, disk: Disk) -> Self {
        let revision = shared.state().revision();
        Self {
            commands,
            shared,
            disk,
            revision,
            expected: 1,
            patience: Duration::ZERO,
        }
    }

    /// Runs until the store is closed or its last handle is gone. The file is closed before it returns.
    pub(super) fn run(mut self) {
        let mut commands = Vec::new();
        while self.gather(&mut commands) {
            let start = self.shared.now();
            let group = commands.len();
            let requests = commands.drain(..).filter_map(|command| match command {
                Command::Write(request) => Some(request),
                Command::Close => {
                    self.commands.close();
                    None
                }
            });
            // Who no longer waits does not want it done.
            let requests: Vec<_> = requests
                .filter(|request| !request.reply.is_closed())
                .collect();
            self.write(requests);
            // Those who were answered will write again soon, beside those who wait already.
            self.expected = group + self.commands.len();
            self.patience = ((self.shared.now() - start) / 2).min(MAX_PATIENCE);
        }
    }

    /// Waits for commands; false when there will be none. A commit costs the same for one mutation as for many:
    /// without some patience the first caller to come back would get a commit of its own while the rest waits.
    fn gather(&mut self, commands: &mut Vec<Command>) -> bool {
        if self.commands.blocking_recv_many(commands, GROUP) == 0 {
            return false;
        }
        let start = self.shared.now();
        while commands.len() < self.expected.min(GROUP) && self.shared.now() - start < self.patience
        {
            std::thread::sleep(PAUSE);
            let before = commands.len();
            while commands.len() < GROUP
                && let Ok(command) = self.commands.try_recv()
            {
                commands.push(command);
            }
            if commands.len() == before {
                break;
            }
        }
        true
    }

    fn write(&mut self, requests: Vec<Request>) {
        match self.commit(&requests) {
            Ok((outcomes, events)) => {
                self.shared.publish(&events);
                for (request, outcome) in requests.into_iter().zip(outcomes) {
                    answer(request, outcome);
                }
            }
            // Refusals too: they may rest on mutations of the same group, which did not happen.
            Err(error) => {
                let error = Arc::new(error);
                for request in requests {
                    answer(request, Err(WriteError::Storage(Arc::clone(&error))));
                }
            }
        }
    }

    /// Makes the group durable; what each request gets, and what happened.
    fn commit(
        &mut self,
        requests: &[Request],
    ) -> Result<(Vec<Outcome>, Vec<Arc<Event>>), StorageError> {
        let state = self.shared.state();
        let mut plan = Plan::new(&state, self.revision);
        let outcomes = requests
            .iter()
            .map(|request| plan.add(&request.mutation))
            .collect();
        if !plan.events.is_empty() {
            self.revision = plan.revision();
            self.disk.commit(plan.revision(), &plan.writes, &state)?;
        }
        Ok((outcomes, plan.events))
    }
}

/// The caller may have gone while the commit ran.
fn answer(request: Request, outcome: Outcome) {
    let _ = request.reply.send(outcome);
}
