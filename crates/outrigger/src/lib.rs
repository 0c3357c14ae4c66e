//! The command line interface.
//!
//! No logic about charts or clusters is here. A command parses its arguments, calls a library crate and prints the
//! result through [`printer::Printer`].

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

mod age;
mod arguments;
mod atomic_file;
mod commands;
mod input_file;
mod logging;
mod plural;
mod printable;
mod printer;
mod report;

/// Runs one command and reports its error. Exit codes: 0 success, 1 failure, 2 invalid command line.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match arguments::Arguments::try_parse_from(without_help_command(args)) {
        Ok(arguments) => arguments,
        Err(error) => return report::usage(&error),
    };
    let settings = arguments.logging();
    logging::start(settings);
    commands::runtime::handle_file_size_limit();
    match commands::run(arguments) {
        Ok(code) => code,
        Err(error) => report::failure(&error, settings.format),
    }
}

/// `outrigger help COMMAND` and `outrigger COMMAND help` are `outrigger COMMAND --help`.
fn without_help_command(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let is_help = |index: &usize| args.get(*index).is_some_and(|command| command == "help");
    if let Some(index) = [1, 2].into_iter().find(is_help) {
        args.remove(index);
        args.push("--help".into());
    }
    args
}
