//! `outrigger cluster kubeconfig`: prints the kubeconfig of a cluster's administrator.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use outrigger_api::cluster::KUBECONFIG_KEY;

use super::edit;
use crate::commands::plugin::connect::ServerFlags;
use crate::printer::Printer;
use crate::report::hinted;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster kubeconfig cls-1 > kubeconfig; kubectl --kubeconfig kubeconfig get nodes";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    #[command(flatten)]
    server: ServerFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.server.connect().await?;
    let name = &args.name;
    let cluster = edit::get(&connection, name).await?;
    let reference = cluster.kubeconfig_secret_ref().ok_or_else(|| {
        hinted(
            anyhow::anyhow!("cluster {name} has no kubeconfig"),
            Some("the provider baremetal makes one when it installs the control plane".to_owned()),
        )
    })?;
    let api: Api<Secret> = Api::namespaced(connection.client.clone(), &reference.namespace);
    let text = format!("Secret {}/{}", reference.namespace, reference.name);
    let secret = api.get(&reference.name).await;
    let secret = secret.with_context(|| format!("failed to read {text}"))?;
    let kubeconfig = secret.data.unwrap_or_default().remove(KUBECONFIG_KEY);
    let kubeconfig = kubeconfig.with_context(|| format!("{text} has no key {KUBECONFIG_KEY}"))?;
    printer.data(&kubeconfig.0)
}
