//! The commands, their flags and their help texts.

mod deferred;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::logging::{LogFormat, Settings};

pub(crate) use deferred::Deferred;

const EXAMPLES: &str = "\
Examples:
  outrigger up --plugins examples/plugins             Start a local cluster with plugins
  outrigger chart template web ./chart -f site.yaml   Render a Helm chart
  outrigger chart images ./chart -o json              List the images of a chart
  outrigger apiserver --data ./data                   Run a Kubernetes API server
  outrigger plugin list -A                            List the plugins of a cluster
  source <(outrigger completion bash)                 Enable shell completion

Results are written to stdout, everything else to stderr.
Exit codes: 0 success, 1 failure, 2 invalid command line.";

/// Extend Kubernetes clusters before they exist, during bootstrap and while they run.
#[derive(Debug, Parser)]
#[command(name = "outrigger", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// What is logged. Commands that run until they are stopped log what they do.
    pub(crate) fn logging(&self) -> Settings {
        let (format, is_service) = match &self.command {
            Command::Serve(args) => (args.log_format, true),
            Command::Registry(verb) => {
                let is_service = matches!(**verb, commands::registry::Verb::Serve(_));
                (LogFormat::Text, is_service)
            }
            _ => (LogFormat::Text, false),
        };
        Settings {
            verbose: self.global.verbose,
            format,
            is_service,
            prints_failures: matches!(self.command, Command::Install(_) | Command::Up(_)),
        }
    }
}

/// Flags of all commands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Log to stderr; repeat for more detail
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a Kubernetes API server in one process, with its data in one file
    Apiserver(Deferred<commands::apiserver::Args>),
    /// Render, lint, package and inspect Helm charts
    #[command(subcommand)]
    Chart(Deferred<commands::chart::Chart>),
    /// Bring up, upgrade and remove clusters on machines
    #[command(subcommand, visible_alias = "clusters")]
    Cluster(Deferred<commands::cluster::Verb>),
    /// Print a shell completion script
    Completion(Deferred<commands::completion::Args>),
    /// Write, check and inspect packages that extend a cluster
    #[command(subcommand, visible_alias = "expansions")]
    Expansion(Deferred<commands::expansion::Verb>),
    /// List, copy, save and load images
    #[command(subcommand, visible_alias = "images")]
    Image(Deferred<commands::image::Verb>),
    /// Install an expansion package and the first cluster, with a plan first and resume
    Install(Deferred<commands::install::Args>),
    /// Add, remove and use the machines of clusters
    #[command(subcommand, visible_alias = "machines")]
    Machine(Deferred<commands::machine::Verb>),
    /// Install, configure and remove the plugins of a cluster
    #[command(subcommand, visible_alias = "plugins")]
    Plugin(Deferred<commands::plugin::Verb>),
    /// Build and check the folders of files that are installed on machines
    #[command(subcommand)]
    Provider(Deferred<commands::provider::Verb>),
    /// Run an OCI registry and chart repository
    #[command(subcommand)]
    Registry(Deferred<commands::registry::Verb>),
    /// Manage the chart repositories of a cluster
    #[command(subcommand)]
    Repository(Deferred<commands::repository::Verb>),
    /// Run the controller that reconciles plugins and clusters
    Serve(Deferred<commands::serve::Args>),
    /// Describe clusters with staged plugins, and render them to CloudFormation
    #[command(subcommand)]
    Stack(Deferred<commands::stack::Verb>),
    /// Start a local cluster: API server, simulated workloads and plugins in one process
    Up(Deferred<commands::up::Args>),
    /// Print the version of this build
    Version(Deferred<commands::version::Args>),
}

/// The output format of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    #[default]
    Table,
    Json,
    Yaml,
}

/// The `-o` flag.
#[derive(Debug, Args)]
pub(crate) struct OutputFlag {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// The output format of a list that has more columns on request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WideOutput {
    #[default]
    Table,
    /// The table with more columns, and with whole messages
    Wide,
    Json,
    Yaml,
}

impl WideOutput {
    /// The format, without the choice of columns.
    pub(crate) fn format(self) -> Output {
        match self {
            Self::Table | Self::Wide => Output::Table,
            Self::Json => Output::Json,
            Self::Yaml => Output::Yaml,
        }
    }
}

/// The `-o` flag of such lists.
#[derive(Debug, Args)]
pub(crate) struct WideOutputFlag {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: WideOutput,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// The commands, with their full names.
    fn commands(command: &clap::Command, name: &str, found: &mut Vec<(String, clap::Command)>) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = format!("{name} {}", verb.get_name());
            found.push((name.clone(), verb.clone()));
            commands(verb, &name, found);
        }
    }

    fn all_commands() -> Vec<(String, clap::Command)> {
        let mut root = Arguments::command();
        root.build();
        let mut found = Vec::new();
        commands(&root, "outrigger", &mut found);
        assert!(found.len() > 80, "{}", found.len());
        found
    }

    #[test]
    fn each_noun_and_each_verb_has_examples_of_itself() {
        let lacks_examples = |(name, command): &(String, clap::Command)| {
            let help = command.clone().render_long_help().to_string();
            let examples = help.split_once("Examples:\n").map(|(_, examples)| examples);
            !examples.is_some_and(|examples| examples.contains(name))
        };
        let all = all_commands();
        let found = all.iter().filter(|command| lacks_examples(command));
        let found: Vec<&str> = found.map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, Vec::<&str>::new());
    }

    /// Files are written to `--to FILE`.
    #[test]
    fn output_is_a_format_everywhere() {
        for (name, command) in all_commands() {
            for argument in command.get_arguments() {
                let is_output =
                    argument.get_short() == Some('o') || argument.get_long() == Some("output");
                if is_output {
                    assert_eq!(argument.get_short(), Some('o'), "{name}");
                    assert_eq!(argument.get_long(), Some("output"), "{name}");
                    let formats = argument.get_possible_values();
                    let has_json = formats.iter().any(|format| format.get_name() == "json");
                    assert!(has_json, "{name}");
                }
            }
        }
    }
}
