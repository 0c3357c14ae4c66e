//! What a user sees: exit code, stdout and stderr of the real binary.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod command_line;
