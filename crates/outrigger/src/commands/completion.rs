//! `outrigger completion`: prints a completion script for the user's shell. In bash, fish and zsh, it also completes the
//! names of clusters, machines and plugins.

mod names;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  source <(outrigger completion bash)
  outrigger completion zsh > \"${fpath[1]}/_outrigger\"
  outrigger completion fish > ~/.config/fish/completions/outrigger.fish";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell [default: the current shell]
    #[arg(value_enum)]
    shell: Option<Shell>,
    /// Print the names of objects, for the scripts
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        hide = true,
        conflicts_with = "shell"
    )]
    names: Option<names::Kind>,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    if let Some(kind) = args.names {
        return names::print(kind, printer);
    }
    let shell = args
        .shell
        .or_else(Shell::from_env)
        .context("the SHELL variable does not name a supported shell")
        .hint("specify one: outrigger completion bash|elvish|fish|powershell|zsh")?;
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(shell, &mut command, "outrigger", &mut script);
    let script = String::from_utf8(script).context("a completion script is text")?;
    let script = names::with_names(shell, &command, &script);
    printer.data(script.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
