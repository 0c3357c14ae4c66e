//! One watcher, as clients are: it keeps its own copy of the objects, and resumes from the last revision it saw.
//!
//! A server that was started again knows no history from before; it may answer 410, as a real one does, and the
//! watcher lists again. It must never be left with a copy that differs.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::BytesMut;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::objects::{self, Contents, MARKER};
use crate::client::Client;

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Watcher {
    contents: Contents,
    /// The revision of the last event; none before the first list.
    last: Option<u64>,
    /// Each revision with the change that was seen under it.
    pub(super) changes: BTreeMap<u64, (String, String)>,
    pub(super) seen: usize,
    /// Revisions up to here, from the first, were taken in by a list: from, to.
    pub(super) listed: Vec<(u64, u64)>,
    /// How often it could go on where it was.
    pub(super) resumed: usize,
}

/// What came out of a stream.
enum Read {
    Event,
    Expired,
    End,
}

impl Watcher {
    /// Reads until it has seen the marker's revision.
    pub(super) async fn catch_up(&mut self, client: &Client, marker: u64) -> anyhow::Result<()> {
        let mut stream = self.open(client).await?;
        let before = self.listed.len();
        while self.last < Some(marker) {
            let read = timeout(PATIENCE, self.read(&mut stream)).await;
            match read.with_context(|| format!("revision {marker} did not come"))?? {
                Read::Event => {}
                Read::Expired => {
                    self.list(client).await?;
                    stream = self.open(client).await?;
                }
                Read::End => bail!("the watch ended before revision {marker}"),
            }
        }
        self.resumed += usize::from(self.listed.len() == before);
        Ok(())
    }

    /// Reads until the server is gone. While it lives, nothing may be missing.
    pub(super) async fn follow(mut self, client: Client) -> anyhow::Result<Self> {
        let Ok(mut stream) = self.open(&client).await else {
            return Ok(self);
        };
        loop {
            match self.read(&mut stream).await? {
                Read::Event => {}
                Read::Expired => bail!("revision {:?} expired at once", self.last),
                Read::End => return Ok(self),
            }
        }
    }

    /// Takes in the whole list.
    async fn list(&mut self, client: &Client) -> anyhow::Result<()> {
        let (contents, revision) = objects::list(client).await?;
        self.contents = contents;
        self.listed.push((self.last.unwrap_or_default(), revision));
        self.last = Some(revision);
        Ok(())
    }

    /// Whether its copy is what the server has.
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
            "a watcher has {wrong:?} and misses {:?}",
            missing.take(3).collect::<Vec<_>>()
        );
    }

    async fn open(&self, client: &Client) -> anyhow::Result<Stream> {
        // The first time it starts from nothing, and from then on always where it was.
        let from = self.last.unwrap_or(1);
        let path = format!("{}?watch=1&resourceVersion={from}", objects::PATH);
        let request = client.request("GET", &path).body(Full::default())?;
        let response = client.stream(request).await?;
        anyhow::ensure!(
            response.status() == 200,
            "WATCH answers {}",
            response.status()
        );
        Ok(Stream {
            body: response.into_body(),
            buffer: BytesMut::new(),
        })
    }

    /// Takes in one event.
    async fn read(&mut self, stream: &mut Stream) -> anyhow::Result<Read> {
        let Some(line) = stream.line().await else {
            return Ok(Read::End);
        };
        let event: Value = serde_json::from_slice(&line).context("an event is not JSON")?;
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "ERROR" && event["object"]["code"] == 410 {
            return Ok(Read::Expired);
        }
        anyhow::ensure!(kind != "ERROR", "the watch fails: {}", event["object"]);
        let object = objects::parse(&event["object"])?;
        if self.last >= Some(object.revision) {
            bail!("revision {} came after {:?}", object.revision, self.last);
        }
        self.last = Some(object.revision);
        self.seen += 1;
        if !objects::is_ours(&object.name) && object.name != MARKER {
            return Ok(Read::Event);
        }
        let deleted = kind == "DELETED";
        if !deleted {
            let change = (object.name.clone(), object.value.clone());
            self.changes.insert(object.revision, change);
        }
        if object.name != MARKER {
            if deleted {
                self.contents.remove(&object.name);
            } else {
                let value = (object.value, object.revision);
                self.contents.insert(object.name, value);
            }
        }
        Ok(Read::Event)
    }
}

struct Stream {
    body: Incoming,
    buffer: BytesMut,
}

impl Stream {
    /// The next whole line. What is cut off by the end of the server does not count.
    async fn line(&mut self) -> Option<BytesMut> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Some(self.buffer.split_to(end + 1));
            }
            let frame = self.body.frame().await?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.buffer.extend_from_slice(data);
            }
        }
    }
}
