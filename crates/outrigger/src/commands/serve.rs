//! `outrigger serve`: runs the controller that reconciles the plugins of a cluster.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use kube::api::ListParams;
use kube::{Api, Client};
use outrigger_api::plugin::Plugin;
use outrigger_controller::{Options, crds, leader_election};

use super::plugin::connect::{CLUSTER_UNREACHABLE_HINT, load_config};
use super::runtime::{self, shutdown_signal};
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger serve --install-crds                          Serve the current context, or the cluster it runs in
  outrigger serve --context site-7 --namespace addons
  outrigger serve --image-registry registry.local:5000
  outrigger serve --install-crds --compat                 Also serve objects of KubeGems and TKEStack";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ~/.kube/config, or the cluster it runs in]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Reconcile only plugins of this namespace; may be repeated
    #[arg(short, long, value_name = "NAME")]
    namespace: Vec<String>,
    /// Rewrite all images to this registry, unless a plugin sets its own
    #[arg(long, value_name = "HOST[/PATH]")]
    image_registry: Option<String>,
    /// Install the custom resource definitions first
    #[arg(long)]
    install_crds: bool,
    /// Also reconcile plugins and bundles of KubeGems and apps of TKEStack
    #[arg(long)]
    compat: bool,
    /// Run without leader election
    #[arg(long)]
    no_leader_election: bool,
    /// Namespace of the leader election lease
    #[arg(long, value_name = "NAME", default_value = "default")]
    lease_namespace: String,
    /// Maximum number of concurrent reconciles
    #[arg(long, value_name = "COUNT", default_value_t = 16)]
    parallel: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    runtime::run(serve(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let client = connect(args).await?;
    let version = client.apiserver_version().await;
    let version = version
        .context("failed to reach the cluster")
        .hint(CLUSTER_UNREACHABLE_HINT)?;
    if args.install_crds {
        let installed = crds::install(&client, args.compat).await;
        installed.hint("--install-crds needs permission to write custom resource definitions")?;
    }
    check_definitions(&client).await?;
    let shutdown = shutdown_signal()?;
    note(&format!(
        "serving plugins on Kubernetes {}",
        version.git_version
    ));
    outrigger_controller::run(client, options(args), shutdown).await;
    Ok(())
}

/// Without the custom resource definitions the controller would wait forever.
async fn check_definitions(client: &Client) -> anyhow::Result<()> {
    let plugins: Api<Plugin> = Api::all(client.clone());
    let first = ListParams::default().limit(1);
    match plugins.list_metadata(&first).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Err(anyhow::anyhow!(
            "the Plugin CRD (plugins.outrigger.dev) is not installed"
        ))
        .hint("--install-crds installs it"),
        _ => Ok(()),
    }
}

fn options(args: &Args) -> Options {
    let leader_election = (!args.no_leader_election).then(|| {
        let identity = format!("outrigger-{:016x}", random_number());
        leader_election::Options::new(&args.lease_namespace, identity)
    });
    Options {
        namespaces: args.namespace.clone(),
        image_registry: args.image_registry.clone(),
        max_concurrent_reconciles: args.parallel,
        leader_election,
        compat: args.compat,
        fetcher: outrigger_repository::Options::for_user(),
        ..Options::default()
    }
}

fn random_number() -> u64 {
    getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
}

async fn connect(args: &Args) -> anyhow::Result<Client> {
    let config = load_config(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
    Client::try_from(config).context("failed to create a client")
}
