//! `outrigger machine`: the machines of clusters.

pub(crate) mod add;
pub(crate) mod connect;
mod credentials;
mod facts;
pub(crate) mod list;
mod remove;
mod replace;
mod run;
pub(crate) mod select;
pub(crate) mod stand_in;
pub(crate) mod wait;

use std::process::ExitCode;

use kube::Api;
use outrigger_api::machine::Machine;

use super::plugin::connect::Connection;
use super::plugin::unreachable;
use super::{runtime, similar_name};
use crate::printer::Printer;
use crate::report::hinted;

const EXAMPLES: &str = "\
Examples:
  outrigger machine list
  outrigger machine add worker-1 --cluster cls-1 --address root@10.0.0.9 --secret default/ssh
  outrigger machine run --cluster cls-1 -- uptime";

/// Add, remove and use the machines of clusters
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Add a worker to a cluster
    Add(add::Args),
    /// Connect to machines and print what they are
    Facts(facts::Args),
    /// List machines
    List(list::Args),
    /// Remove a worker from its cluster
    Remove(remove::Args),
    /// Replace a machine that does not come back
    Replace(replace::Args),
    /// Run a command on machines
    Run(run::Args),
    /// Serve SSH as a stand-in machine, until stdin is closed
    #[command(hide = true)]
    StandIn(stand_in::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    runtime::run(async {
        match verb {
            Verb::Add(args) => add::run(args, printer).await,
            Verb::Facts(args) => facts::run(args, printer).await,
            Verb::List(args) => list::run(args, printer).await,
            Verb::Remove(args) => remove::run(args, printer).await,
            Verb::Replace(args) => replace::run(args, printer).await,
            Verb::Run(args) => run::run(args, printer).await,
            Verb::StandIn(args) => stand_in::run(args, printer).await,
        }
    })
}

fn machines(connection: &Connection) -> Api<Machine> {
    Api::all(connection.client.clone())
}

/// A machine. If it does not exist, the error has the most similar name.
async fn get(api: &Api<Machine>, name: &str) -> anyhow::Result<Machine> {
    match api.get(name).await {
        Ok(machine) => Ok(machine),
        Err(error) => Err(similar_name::suggest(api, name, error, explain).await),
    }
}

/// Explains an error of a request for a machine.
fn explain(error: &kube::Error, machine: Option<&str>) -> anyhow::Error {
    let kube::Error::Api(status) = error else {
        return unreachable::explain(error);
    };
    match (status.code, machine) {
        (404, Some(name)) if status.message.contains(&format!("\"{name}\"")) => hinted(
            anyhow::anyhow!("machine {name} does not exist"),
            Some("outrigger machine list shows all machines".to_owned()),
        ),
        (404, _) => {
            anyhow::anyhow!("the Machine CRD (machines.outrigger.dev) is not installed")
        }
        (409, Some(name)) if status.reason == "AlreadyExists" => {
            anyhow::anyhow!("machine {name} already exists")
        }
        _ => anyhow::anyhow!(status.message.clone()),
    }
}
