//! The writer: commits all queued transactions as one batch, publishes the batch and replies to the callers. The next
//! batch accumulates during a commit (group commit).
//!
//! It runs on its own thread, because a commit blocks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::backend::{Backend, StorageError};
use super::batch::Batch;
use super::shared::Shared;
use super::transaction::{Committed, Transaction, WriteError};
use crate::watch::Event;

/// The maximum number of transactions in one commit.
const MAX_BATCH: usize = 1024;

/// How long the writer sleeps before it polls the queue again. It commits when nothing arrives during a sleep.
const PAUSE: Duration = Duration::from_micros(50);

/// The longest time that a batch waits for more transactions.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(2);

type Outcome = Result<Committed, WriteError>;

#[derive(Debug)]
pub(super) enum Command {
    Write(Request),
    /// Commits what is queued, then ends.
    Close,
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) transaction: Transaction,
    pub(super) reply: oneshot::Sender<Outcome>,
}

#[derive(Debug)]
pub(super) struct Writer {
    commands: mpsc::Receiver<Command>,
    shared: Arc<Shared>,
    backend: Backend,
    /// The last assigned revision. Revisions of failed batches are not reused.
    revision: u64,
    /// The expected size of the next batch.
    expected: usize,
    /// How long the next batch waits for that many.
    batch_delay: Duration,
}

impl Writer {
    pub(super) fn new(
        commands: mpsc::Receiver<Command>,
        shared: Arc<Shared>,
        backend: Backend,
    ) -> Self {
        let revision = shared.state().revision();
        Self {
            commands,
            shared,
            backend,
            revision,
            expected: 1,
            batch_delay: Duration::ZERO,
        }
    }

    /// Runs until the store is closed or its last handle is dropped. Closes the file before it returns.
    pub(super) fn run(mut self) {
        let mut commands = Vec::new();
        while self.gather(&mut commands) {
            let start = self.shared.now();
            let size = commands.len();
            let requests = commands.drain(..).filter_map(|command| match command {
                Command::Write(request) => Some(request),
                Command::Close => {
                    self.commands.close();
                    None
                }
            });
            // A caller that no longer waits has canceled its transaction.
            let requests: Vec<_> = requests
                .filter(|request| !request.reply.is_closed())
                .collect();
            self.write(requests);
            // Callers that got a reply are likely to write again soon.
            self.expected = size + self.commands.len();
            self.batch_delay = ((self.shared.now() - start) / 2).min(MAX_BATCH_DELAY);
        }
    }

    /// Waits for commands; false when the queue is closed. A commit costs the same for one transaction as for many:
    /// without a delay the first caller to return would get a commit of its own, and the others would wait for it.
    fn gather(&mut self, commands: &mut Vec<Command>) -> bool {
        if self.commands.blocking_recv_many(commands, MAX_BATCH) == 0 {
            return false;
        }
        let start = self.shared.now();
        while commands.len() < self.expected.min(MAX_BATCH)
            && self.shared.now() - start < self.batch_delay
        {
            std::thread::sleep(PAUSE);
            let before = commands.len();
            while commands.len() < MAX_BATCH
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
                    reply(request, outcome);
                }
            }
            Err(error) => self.write_rest(requests, error),
        }
    }

    /// Rejects what was not committed. On a full disk, what frees space is committed without the others.
    fn write_rest(&mut self, requests: Vec<Request>, error: StorageError) {
        let state = self.shared.state();
        let (freeing, mut failed): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .partition(|request| request.transaction.frees_space(&state));
        let is_full = matches!(error, StorageError::Full { .. });
        let retried = if is_full && !failed.is_empty() {
            freeing
        } else {
            failed.extend(freeing);
            Vec::new()
        };
        // Rejected transactions too: they may depend on others of the batch, which were not committed.
        let error = Arc::new(error);
        for request in failed {
            reply(request, Err(WriteError::Storage(Arc::clone(&error))));
        }
        if !retried.is_empty() {
            self.write(retried);
        }
    }

    /// Makes the batch durable and returns the outcome of each request and the events.
    fn commit(
        &mut self,
        requests: &[Request],
    ) -> Result<(Vec<Outcome>, Vec<Arc<Event>>), StorageError> {
        let state = self.shared.state();
        let mut batch = Batch::new(&state, self.revision);
        let outcomes = requests
            .iter()
            .map(|request| batch.add(&request.transaction))
            .collect();
        if !batch.events.is_empty() {
            self.revision = batch.revision();
            let frees_space = requests
                .iter()
                .all(|request| request.transaction.frees_space(&state));
            self.backend
                .commit(batch.revision(), &batch.writes, &state, frees_space)?;
        }
        Ok((outcomes, batch.events))
    }
}

/// The caller may have stopped waiting during the commit.
fn reply(request: Request, outcome: Outcome) {
    let _ = request.reply.send(outcome);
}
