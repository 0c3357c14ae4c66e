//! Runs the programs that machines run, on the local machine.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod attempts;
mod copy;
mod run;
mod scripts;
mod ssh;
mod ssh_server;
