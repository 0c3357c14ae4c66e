//! Machines over SSH.
//!
//! ```text
//! Connection (one for each machine) ─ connect: TCP or jump host → handshake, host key → authenticate ─→ Session
//!        └─ exec: opens a channel; if the session is dead, connects again; if it is full, on a further connection
//! ```

mod authenticate;
mod connection;
mod handler;
mod progress;
mod session;
mod stream;

pub use connection::{Connector, Settings, Target};

pub(crate) use connection::{Connection, ExecError, Purpose, Spare};
