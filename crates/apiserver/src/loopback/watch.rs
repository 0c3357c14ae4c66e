//! Decodes the event stream of a watch.

use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::{Body, Error};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// The object was added or modified, or matches the selector now.
    Applied(Value),
    /// The object was deleted, or no longer matches the selector.
    Deleted(Value),
    /// All events up to this resource version were sent.
    Bookmark(String),
}

/// An open watch.
#[derive(Debug)]
pub struct Watch {
    body: Body,
    buffer: BytesMut,
}

impl Watch {
    pub(super) fn new(body: Body) -> Self {
        Self {
            body,
            buffer: BytesMut::new(),
        }
    }

    /// The next event; none when the server ends the watch. An expired revision is an error with code 410.
    pub async fn next(&mut self) -> Result<Option<WatchEvent>, Error> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end);
                self.buffer.advance(1);
                if line.is_empty() {
                    continue;
                }
                return decode(&line).map(Some);
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            if let Ok(data) = frame.map_err(Error::Service)?.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }
}

fn decode(line: &[u8]) -> Result<WatchEvent, Error> {
    let mut event: Value = serde_json::from_slice(line).map_err(Error::Decode)?;
    let object = event["object"].take();
    Ok(match event["type"].as_str() {
        Some("DELETED") => WatchEvent::Deleted(object),
        Some("BOOKMARK") => {
            let revision = object["metadata"]["resourceVersion"].as_str();
            WatchEvent::Bookmark(revision.unwrap_or_default().to_owned())
        }
        Some("ERROR") => {
            let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
            let code = object["code"]
                .as_u64()
                .and_then(|code| u16::try_from(code).ok());
            return Err(Error::Api {
                code: code.unwrap_or(500),
                reason: text("reason"),
                message: text("message"),
            });
        }
        _ => WatchEvent::Applied(object),
    })
}
