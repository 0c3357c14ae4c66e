//! A watch that a case has opened, and the events that its steps read.

use std::time::Duration;

use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::client::WatchStream;

#[derive(Debug)]
pub(super) struct Watch {
    /// The response without its body.
    response: Value,
    stream: WatchStream,
}

impl Watch {
    pub(super) fn new(response: Value, body: Incoming) -> Self {
        Self {
            response,
            stream: WatchStream::new(body),
        }
    }

    /// Reads up to `count` events, or all events until the end of the stream. The body of the response has a note if
    /// there were fewer.
    pub(super) async fn read(&mut self, count: usize, to_end: bool, within: Duration) -> Value {
        let deadline = Instant::now() + within;
        let mut events = Vec::new();
        let mut note = Value::Null;
        while events.len() < count {
            match timeout_at(deadline, self.next()).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) if to_end => break,
                Ok(None) => {
                    note = "the server ended the stream".into();
                    break;
                }
                Err(_) => {
                    note = format!("no more events in {within:?}").into();
                    break;
                }
            }
        }
        let mut response = self.response.clone();
        response["body"] = if response["code"] == 200 {
            json!({"events": events, "note": note})
        } else {
            events.into_iter().next().unwrap_or_default()
        };
        response
    }

    async fn next(&mut self) -> Option<Value> {
        let line = self.stream.line().await;
        let line = line.or_else(|| self.stream.remainder())?;
        let event = serde_json::from_slice(&line);
        Some(event.unwrap_or_else(|_| String::from_utf8_lossy(&line).into_owned().into()))
    }
}
