//! One module per command, and the dispatch to it.

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};
use crate::printer::Printer;

pub(crate) mod apiserver;
pub(crate) mod chart;
pub(crate) mod cluster;
pub(crate) mod completion;
mod embedded_server;
pub(crate) mod expansion;
pub(crate) mod image;
pub(crate) mod install;
mod kubeconfig_file;
mod listen;
mod live_area;
mod local_platform;
pub(crate) mod machine;
mod mirror_flags;
mod oci_chart;
pub(crate) mod plugin;
mod progress_line;
pub(crate) mod provider;
pub(crate) mod registry;
mod registry_flags;
mod registry_name;
pub(crate) mod repository;
pub(crate) mod runtime;
pub(crate) mod serve;
mod similar_name;
pub(crate) mod size;
pub(crate) mod stack;
pub(crate) mod up;
pub(crate) mod version;

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let printer = Printer::new();
    match arguments.command {
        Command::Apiserver(args) => apiserver::run(&args, &printer),
        Command::Chart(chart) => chart::run(&chart, &printer),
        Command::Cluster(verb) => cluster::run(&verb, &printer),
        Command::Completion(args) => completion::run(&args, &printer),
        Command::Expansion(verb) => expansion::run(&verb, &printer),
        Command::Image(verb) => image::run(&verb, &printer),
        Command::Install(args) => install::run(&args, &printer),
        Command::Machine(verb) => machine::run(&verb, &printer),
        Command::Plugin(verb) => plugin::run(&verb, &printer),
        Command::Provider(verb) => provider::run(&verb, &printer),
        Command::Registry(verb) => registry::run(&verb, &printer),
        Command::Repository(verb) => repository::run(&verb, &printer),
        Command::Serve(args) => serve::run(&args),
        Command::Stack(verb) => stack::run(&verb, &printer),
        Command::Up(args) => up::run(&args, &printer),
        Command::Version(args) => version::run(&args, &printer),
    }
}
