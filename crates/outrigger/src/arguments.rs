//! What a user can type: the commands, their flags and their help texts.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::commands;

const EXAMPLES: &str = "\
Examples:
  outrigger up --plugins examples/plugins             A cluster to try things on
  outrigger chart template web ./chart -f site.yaml   What a Helm chart would install
  outrigger chart images ./chart -o json              The images that it would run
  outrigger apiserver --data ./data                   A Kubernetes API on this machine
  outrigger plugin list -A                            The components of a cluster
  source <(outrigger completion bash)                 Completion for your shell

Results go to stdout, everything else to stderr.
Exit codes: 0 done, 1 failed, 2 command line not understood.";

/// Extend Kubernetes clusters before they exist, while they come up and while they run.
#[derive(Debug, Parser)]
#[command(name = "outrigger", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Tell what is going on, on stderr; twice for more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a Kubernetes API from one process and one file
    Apiserver(Box<commands::apiserver::Args>),
    /// Render, check, package and inspect Helm charts
    #[command(subcommand)]
    Chart(Box<commands::chart::Chart>),
    /// Print a completion script for a shell
    Completion(commands::completion::Args),
    /// Switch components of a cluster on and off, and configure them
    #[command(subcommand, visible_alias = "plugins")]
    Plugin(commands::plugin::Verb),
    /// Keep the plugins of a cluster installed, healthy and in order
    Serve(Box<commands::serve::Args>),
    /// Start a cluster to try things on: API, simulated workloads and plugins in one process
    Up(Box<commands::up::Args>),
    /// Print the version of this build
    Version(commands::version::Args),
}

/// The form of a command's result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Columns for people
    #[default]
    Table,
    /// JSON for programs
    Json,
    /// YAML for both
    Yaml,
}

/// The `-o` flag, for commands whose result has several forms.
#[derive(Debug, Args)]
pub(crate) struct OutputFlag {
    /// Form of the result
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) output: Output,
}
