//! Compares expressions with recorded results of cel-go in the environment of Kubernetes 1.36.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod hostile;
mod recording;
mod schema;
