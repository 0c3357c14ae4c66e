//! A watcher that behaves like an informer: it keeps a copy of the objects and resumes from its last revision.
//!
//! A restarted server has no history and may return 410, as kube-apiserver does; the watcher then relists. Its copy must
//! always converge to the server's state.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use tokio::time::timeout;

use super::objects::{self, Contents, MARKER};
use crate::apiserver::CONFIG_MAPS;
use crate::client::{Client, WatchStream};

const EVENT_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Watcher {
    contents: Contents,
    /// The revision of the last event or relist.
    last: Option<u64>,
    /// The received change of each revision: name and value.
    pub(super) changes: BTreeMap<u64, (String, String)>,
    pub(super) received: usize,
    /// The ranges of revisions that relists cover, inclusive.
    pub(super) relists: Vec<(u64, u64)>,
    /// How often the watch resumed without a relist.
    pub(super) resumed: usize,
}

enum Received {
    Event,
    /// 410 Gone
    Expired,
    EndOfStream,
}

impl Watcher {
    /// Reads events until it reaches the marker's revision.
    pub(super) async fn catch_up(&mut self, client: &Client, marker: u64) -> anyhow::Result<()> {
        let mut stream = self.open(client).await?;
        let relists = self.relists.len();
        while self.last < Some(marker) {
            let received = timeout(EVENT_TIMEOUT, self.receive(&mut stream)).await;
            match received.with_context(|| format!("no event with revision {marker}"))?? {
                Received::Event => {}
                Received::Expired => {
                    self.relist(client).await?;
                    stream = self.open(client).await?;
                }
                Received::EndOfStream => bail!("the watch ended before revision {marker}"),
            }
        }
        self.resumed += usize::from(self.relists.len() == relists);
        Ok(())
    }

    /// Reads events until the server is killed.
    pub(super) async fn follow(mut self, client: Client) -> anyhow::Result<Self> {
        let Ok(mut stream) = self.open(&client).await else {
            return Ok(self);
        };
        loop {
            match self.receive(&mut stream).await? {
                Received::Event => {}
                Received::Expired => bail!("revision {:?} has expired already", self.last),
                Received::EndOfStream => return Ok(self),
            }
        }
    }

    async fn relist(&mut self, client: &Client) -> anyhow::Result<()> {
        let (contents, revision) = objects::list(client).await?;
        self.contents = contents;
        self.relists.push((self.last.unwrap_or_default(), revision));
        self.last = Some(revision);
        Ok(())
    }

    /// Compares the copy with the server's state.
    pub(super) fn compare(&self, contents: &Contents) -> anyhow::Result<()> {
        if self.contents == *contents {
            return Ok(());
        }
        let differs =
            |(name, known): &(&String, &(String, u64))| contents.get(*name) != Some(*known);
        let wrong: Vec<_> = self.contents.iter().filter(differs).take(3).collect();
        let missing = contents
            .keys()
            .filter(|name| !self.contents.contains_key(*name));
        bail!(
            "a watcher has {wrong:?} and lacks {:?}",
            missing.take(3).collect::<Vec<_>>()
        );
    }

    async fn open(&self, client: &Client) -> anyhow::Result<WatchStream> {
        let from = self.last.unwrap_or(1);
        let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}");
        client.watch(&path).await
    }

    async fn receive(&mut self, stream: &mut WatchStream) -> anyhow::Result<Received> {
        let Some(line) = stream.line().await else {
            return Ok(Received::EndOfStream);
        };
        let event: Value = serde_json::from_slice(&line).context("an event is not JSON")?;
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "ERROR" && event["object"]["code"] == 410 {
            return Ok(Received::Expired);
        }
        ensure!(kind != "ERROR", "the watch failed: {}", event["object"]);
        let object = objects::parse(&event["object"])?;
        if self.last >= Some(object.revision) {
            bail!("revision {} follows {:?}", object.revision, self.last);
        }
        self.last = Some(object.revision);
        self.received += 1;
        let is_load = objects::is_load(&object.name);
        let is_deleted = kind == "DELETED";
        if !is_deleted && (is_load || object.name == MARKER) {
            let change = (object.name.clone(), object.value.clone());
            self.changes.insert(object.revision, change);
        }
        if is_load && is_deleted {
            self.contents.remove(&object.name);
        } else if is_load {
            let value = (object.value, object.revision);
            self.contents.insert(object.name, value);
        }
        Ok(Received::Event)
    }
}
