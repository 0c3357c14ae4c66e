//! `crash apiserver`: kills the server under load, again and again, on one data directory.
//!
//! After each restart no acknowledged write is missing, no revision stands for two changes, and watchers that resume
//! from their last revision end up with the server's state.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::client::Client;
use crate::crash::CrashTest;
use crate::process::{ANY_PORT, EmbeddedServer, Options};

mod ledger;
mod objects;
mod watcher;
mod writer;

use ledger::Ledger;
use watcher::Watcher;

const WRITERS: usize = 8;
const WATCHERS: usize = 2;

pub(crate) struct Test {
    options: Options,
    ledger: Ledger,
    watchers: Vec<Watcher>,
}

impl CrashTest for Test {
    const DEFAULT_ROUNDS: usize = 200;

    async fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            options: Options {
                binary: binary.to_owned(),
                data: directory.join("data"),
                simulate_workloads: false,
            },
            ledger: Ledger::default(),
            watchers: (0..WATCHERS).map(|_| Watcher::default()).collect(),
        })
    }

    async fn round(&mut self, _round: usize) -> anyhow::Result<()> {
        if fastrand::u8(..) < 50 {
            return self.kill_during_startup().await;
        }
        let mut server = EmbeddedServer::start(&self.options).await?;
        let client = Client::connect(&server.endpoint).await?;
        self.check(&client).await?;
        let watchers: Vec<_> = std::mem::take(&mut self.watchers)
            .into_iter()
            .map(|watcher| tokio::spawn(watcher.follow(client.clone())))
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| tokio::spawn(writer::run(number, client.clone(), self.ledger.clone())))
            .collect();
        tokio::time::sleep(Duration::from_millis(fastrand::u64(5..500))).await;
        server.kill().await?;
        for writer in writers {
            writer.await??;
        }
        for watcher in watchers {
            self.watchers.push(watcher.await??);
        }
        Ok(())
    }

    async fn finish(mut self) -> anyhow::Result<String> {
        let mut server = EmbeddedServer::start(&self.options).await?;
        let client = Client::connect(&server.endpoint).await?;
        self.check(&client).await?;
        server.kill().await?;
        let sum = |count: fn(&Watcher) -> usize| self.watchers.iter().map(count).sum::<usize>();
        Ok(format!(
            "{} writes acknowledged, {} events received; watchers resumed {} times and relisted {} times; \
             no write lost, no revision used twice, no event missed",
            self.ledger.acknowledged(),
            sum(|watcher| watcher.received),
            sum(|watcher| watcher.resumed),
            sum(|watcher| watcher.relists.len()),
        ))
    }
}

impl Test {
    async fn kill_during_startup(&self) -> anyhow::Result<()> {
        let kubeconfig = self.options.data.with_extension("killed");
        let mut command = self.options.command(ANY_PORT, &kubeconfig);
        let mut child = command.stderr(Stdio::null()).spawn()?;
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..60_000))).await;
        Ok(child.kill().await?)
    }

    /// Compares the server's state with the acknowledged writes, and with the state of each watcher once it has caught
    /// up.
    async fn check(&mut self, client: &Client) -> anyhow::Result<()> {
        let (contents, revision) = objects::list(client).await?;
        self.ledger.compare(&contents)?;
        let marker = objects::write_marker(client).await?;
        anyhow::ensure!(
            marker > revision,
            "the marker has revision {marker}, which is not above {revision}"
        );
        for watcher in &mut self.watchers {
            watcher.catch_up(client, marker).await?;
            watcher.compare(&contents)?;
            self.ledger.compare_revisions(watcher)?;
        }
        Ok(())
    }
}
