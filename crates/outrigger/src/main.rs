//! The `outrigger` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    outrigger::run(std::env::args_os())
}
