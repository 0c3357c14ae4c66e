//! `outrigger machine remove`: removes a worker from its cluster.

use std::process::ExitCode;

use kube::api::{DeleteParams, Patch, PatchParams};
use outrigger_api::annotation::FORCE;
use outrigger_api::machine::MachineRole;
use serde_json::json;

use super::{explain, machines};
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;
use crate::report::HintExt as _;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the machine
    name: String,
    /// Remove the object even if the machine cannot be cleaned up
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    flags: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let connection = args.flags.connect().await?;
    let api = machines(&connection);
    let failed = |error: kube::Error| explain(&error, Some(&args.name));
    let machine = api.get(&args.name).await.map_err(failed)?;
    if machine.spec.role == MachineRole::ControlPlane {
        let cluster = machine.spec.cluster;
        let error = anyhow::anyhow!(
            "machine {} is in the control plane of cluster {cluster}",
            args.name
        );
        return Err(error).hint(format!("remove it from spec.machines of cluster {cluster}"));
    }
    if args.force {
        let patch = json!({"metadata": {"annotations": {FORCE: "true"}}});
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = api.patch(&args.name, &parameters, &patch).await;
        patched.map_err(failed)?;
    }
    let deleted = api.delete(&args.name, &DeleteParams::default()).await;
    deleted.map_err(failed)?;
    printer.line(&format!("machine {}: removal requested", args.name))?;
    Ok(ExitCode::SUCCESS)
}
