//! `outrigger serve`: runs the controller that reconciles the plugins of a cluster.

mod authorization;
mod endpoints;
mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use kube::api::ListParams;
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;
use outrigger_controller::{
    ClusterOptions, ClusterRules, Metrics, Options, Trust, Workers, crds, leader_election, run_on,
};
use outrigger_repository::Rules;

use super::listen::parse_address;
use super::plugin::connect::{self, load_config};
use super::runtime::{self, SHUTDOWN_LIMIT, shutdown_signal};
use crate::commands::mirror_flags::MirrorFlags;
use crate::commands::registry_name::parse_prefix;
use crate::logging::LogFormat;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger serve --install-crds                          Serve the current context, or the cluster it runs in
  outrigger serve --context site-7 --namespace addons
  outrigger serve --image-registry registry.local:5000
  outrigger serve --install-crds --compat                 Also serve objects of KubeGems and TKEStack";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
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
    #[arg(long, value_name = "HOST[/PATH]", value_parser = parse_prefix)]
    image_registry: Option<String>,
    /// Install the custom resource definitions first
    #[arg(long)]
    install_crds: bool,
    /// Also reconcile plugins and bundles of KubeGems and apps of TKEStack
    #[arg(long)]
    compat: bool,
    /// Directory of the files that clusters copy to their machines [default: clusters cannot have files]
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Provider folder of clusters with the provider baremetal [default: none can be installed]
    #[arg(long, value_name = "DIR")]
    provider: Option<PathBuf>,
    /// Run without leader election
    #[arg(long)]
    no_leader_election: bool,
    /// Namespace of the leader election lease
    #[arg(long, value_name = "NAME", default_value = "default")]
    lease_namespace: String,
    /// Maximum number of concurrent reconciles
    #[arg(long, value_name = "COUNT", default_value_t = 16)]
    parallel: usize,
    /// Service account, in the namespace of the plugin, of plugins without serviceAccountName [default: the rights of
    /// the controller]
    #[arg(long, value_name = "NAME", help_heading = "Trust")]
    default_service_account: Option<String>,
    /// Allow plugins to use the charts in this directory as file:// sources; may be repeated [default: none]
    #[arg(long, value_name = "DIR", help_heading = "Trust")]
    allow_files: Vec<PathBuf>,
    /// Allow repositories and clusters at loopback and link-local addresses
    #[arg(long, help_heading = "Trust")]
    allow_local_addresses: bool,
    /// Allow kubeconfigs in Secrets whose server is http://
    #[arg(long, help_heading = "Trust")]
    allow_http_clusters: bool,
    /// Serve /healthz and /readyz at this address, without a token [default: off]
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Monitoring", value_parser = parse_address)]
    health_address: Option<SocketAddr>,
    /// Serve Prometheus metrics at /metrics on this address [default: off]. Except on loopback, they are served over TLS
    /// to tokens that may get the non-resource URL /metrics
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Monitoring", value_parser = parse_address)]
    metrics_address: Option<SocketAddr>,
    /// Format of the log lines on stderr
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Monitoring"
    )]
    pub(crate) log_format: LogFormat,
    #[command(flatten)]
    mirrors: MirrorFlags,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let shutdown = shutdown_signal(Some(SHUTDOWN_LIMIT))?;
    let metrics = Arc::new(Metrics::default());
    let options = options(args, Arc::clone(&metrics))?;
    let start = async {
        tokio::select! {
            started = start(args, &metrics) => started.map(Some),
            () = shutdown.clone() => Ok(None),
        }
    };
    runtime::supervise(start, async |runtime, (config, client)| {
        let workers = Workers { runtime, client };
        let client = connect(config, &metrics)?;
        Box::pin(run_on(workers, client, options, shutdown.clone())).await;
        tracing::info!("stopped");
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Connects to the cluster, checks that it can be served, and listens.
async fn start(args: &Args, metrics: &Arc<Metrics>) -> anyhow::Result<(Config, Client)> {
    let config = load_config(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
    let client = connect(config.clone(), metrics)?;
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| connect::explain(&error, None))?;
    if args.install_crds {
        let installed = crds::install(&client, args.compat).await;
        installed.hint("--install-crds needs permission to write custom resource definitions")?;
    }
    check_definitions(&client).await?;
    if let Some(address) = args.health_address {
        endpoints::serve_probes(address, metrics).await?;
    }
    if let Some(address) = args.metrics_address {
        endpoints::serve_metrics(address, metrics, client.clone()).await?;
    }
    tracing::info!(kubernetes = version.git_version, "serving plugins");
    Ok((config, client))
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

fn options(args: &Args, metrics: Arc<Metrics>) -> anyhow::Result<Options> {
    let leader_election = (!args.no_leader_election).then(|| {
        let identity = format!("outrigger-{:016x}", random_number());
        leader_election::Options::new(&args.lease_namespace, identity)
    });
    Ok(Options {
        namespaces: args.namespace.clone(),
        image_registry: args.image_registry.clone(),
        max_concurrent_reconciles: args.parallel,
        leader_election,
        compat: args.compat,
        fetcher: args.mirrors.apply(fetcher(args))?,
        trust: trust(args),
        clusters: Some(ClusterOptions {
            files: args.files.clone(),
            providers: super::provider::providers(args.provider.as_deref())?,
            namespace: args.lease_namespace.clone(),
            ..ClusterOptions::default()
        }),
        metrics,
        ..Options::default()
    })
}

fn fetcher(args: &Args) -> outrigger_repository::Options {
    outrigger_repository::Options {
        rules: Rules {
            file_roots: Some(args.allow_files.clone()),
            refuse_local_addresses: !args.allow_local_addresses,
        },
        ..outrigger_repository::Options::for_user()
    }
}

fn trust(args: &Args) -> Trust {
    Trust {
        default_service_account: args.default_service_account.clone(),
        clusters: ClusterRules {
            refuse_http: !args.allow_http_clusters,
            refuse_local: !args.allow_local_addresses,
        },
    }
}

fn random_number() -> u64 {
    getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
}

fn connect(config: Config, metrics: &Arc<Metrics>) -> anyhow::Result<Client> {
    metrics.client(config).context("failed to create a client")
}
