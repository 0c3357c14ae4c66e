//! The events of a watch, one by one.

use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::{Body, Error};

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The object was created or changed, or begins to match.
    Applied(Value),
    /// The object is gone, or no longer matches.
    Deleted(Value),
    /// Nothing happened up to this revision.
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
    pub async fn next(&mut self) -> Result<Option<Change>, Error> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end);
                self.buffer.advance(1);
                if line.is_empty() {
                    continue;
                }
                return change(&line).map(Some);
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

fn change(line: &[u8]) -> Result<Change, Error> {
    let mut event: Value = serde_json::from_slice(line).map_err(Error::Answer)?;
    let object = event["object"].take();
    Ok(match event["type"].as_str() {
        Some("DELETED") => Change::Deleted(object),
        Some("BOOKMARK") => {
            let revision = object["metadata"]["resourceVersion"].as_str();
            Change::Bookmark(revision.unwrap_or_default().to_owned())
        }
        Some("ERROR") => {
            let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
            let code = object["code"]
                .as_u64()
                .and_then(|code| u16::try_from(code).ok());
            return Err(Error::Refused {
                code: code.unwrap_or(500),
                reason: text("reason"),
                message: text("message"),
            });
        }
        _ => Change::Applied(object),
    })
}
