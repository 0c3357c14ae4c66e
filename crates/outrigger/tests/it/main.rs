//! Exit code, stdout and stderr of the binary.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod chart;
mod command_line;
mod examples;
mod plugin;
mod up;
