//! An open watch and the events that came out of it.

use std::time::Duration;

use bytes::BytesMut;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

/// The stream of one watch; what was read and not asked for yet stays in the buffer.
#[derive(Debug)]
pub(crate) struct Events {
    opened: Value,
    body: Incoming,
    buffer: BytesMut,
    ended: bool,
}

impl Events {
    /// `opened` is the answer without its body.
    pub(crate) fn new(opened: Value, body: Incoming) -> Self {
        Self {
            opened,
            body,
            buffer: BytesMut::new(),
            ended: false,
        }
    }

    /// Reads `wanted` events, or all until the end. The answer says when it stopped early.
    pub(crate) async fn read(
        &mut self,
        wanted: usize,
        to_end: bool,
        patience: Duration,
    ) -> anyhow::Result<Value> {
        let deadline = Instant::now() + patience;
        let mut events = Vec::new();
        let mut note = Value::Null;
        while events.len() < wanted {
            match timeout_at(deadline, self.next()).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) if to_end => break,
                Ok(None) => {
                    note = "the server ended the stream".into();
                    break;
                }
                Err(_) => {
                    note = format!("no more came in {patience:?}").into();
                    break;
                }
            }
        }
        let mut answer = self.opened.clone();
        answer["body"] = if answer["code"] == 200 {
            json!({"events": events, "note": note})
        } else {
            events.into_iter().next().unwrap_or_default()
        };
        Ok(answer)
    }

    /// The next line; nothing at the end of the stream, however it ended.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                return Some(parsed(&line));
            }
            if self.ended {
                let rest = self.buffer.split();
                return (!rest.is_empty()).then(|| parsed(&rest));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
                _ => self.ended = true,
            }
        }
    }
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(line)
        .unwrap_or_else(|_| String::from_utf8_lossy(line).into_owned().into())
}
