//! Compares expressions with recorded results of cel-go in the environment of Kubernetes 1.36.
#![expect(clippy::unwrap_used, clippy::unwrap_in_result, reason = "test helpers")]

mod hostile;
mod patch_types;
mod recording;
mod schema;
