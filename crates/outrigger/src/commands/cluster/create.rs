//! `outrigger cluster create`: creates a cluster from a manifest.

use std::path::PathBuf;

use kube::ResourceExt as _;
use kube::api::PostParams;

use super::{clusters, explain, file};
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Manifest of the cluster, also one of TKEStack
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    /// Only check the manifest and ask the server
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let manifests = file::read(&args.filename)?;
    let connection = args.cluster.connect().await?;
    let api = clusters(&connection);
    let parameters = PostParams {
        dry_run: args.dry_run,
        field_manager: Some("outrigger".to_owned()),
    };
    for cluster in &manifests {
        let name = cluster.metadata.name.clone();
        let created = api.create(&parameters, cluster).await;
        let created = created.map_err(|error| explain(&error, name.as_deref()))?;
        printer.line(&format!("cluster {} created", created.name_any()))?;
    }
    Ok(())
}
