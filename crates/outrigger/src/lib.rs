//! The command line: what a user types, turned into calls of the library crates and printed.
//!
//! Nothing here decides anything about charts or clusters. A command parses its arguments, calls a library and
//! prints through [`printer::Printer`].

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

mod arguments;
mod commands;
mod logging;
mod printer;
mod report;

/// Runs one command and reports its failure. Exit codes: 0 done, 1 failed, 2 not understood.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match arguments::Arguments::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) => return report::usage(&error),
    };
    logging::start(arguments.global.verbose);
    match commands::run(arguments) {
        Ok(code) => code,
        Err(error) => report::failure(&error),
    }
}
