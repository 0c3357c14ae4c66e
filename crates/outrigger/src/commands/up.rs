//! `outrigger up`: a local cluster in one process.

pub(super) mod apply;
pub(super) mod clusters;
mod package;
pub(super) mod stand_ins;
mod status_lines;
pub(super) mod watch;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use outrigger_api::plugin::Plugin;
use outrigger_apiserver::transport::KUBECONFIG_NAME;
use outrigger_controller::ClusterOptions;
use tokio::sync::Notify;

use self::stand_ins::StandIns;
pub(crate) use self::stand_ins::check as check_stand_ins;
use super::cluster::file::Manifests;
use super::listen::parse_address;
use super::local_platform::{KubeconfigFile, Platform, Settings};
use super::plugin::file;
use super::runtime::{self, SHUTDOWN_LIMIT, shutdown_signal};
use crate::commands::install::{Input, PackageFlags};
use crate::commands::mirror_flags::MirrorFlags;
use crate::commands::registry_name::parse_prefix;
use crate::printer::Printer;
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger up --plugins examples/plugins
  outrigger up --cluster cluster.json              Bring up a cluster on machines over SSH
  outrigger up --expansion ./demo                  Install an expansion package, with a stand-in machine
  outrigger up --data ./data --kubeconfig ./kubeconfig
  outrigger up --plugins site.yaml --once          Exit when all are Ready, with 1 if one fails";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Data directory; without it, all objects are kept in memory only
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Plugins to install: a file, or a directory of files; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    plugins: Vec<PathBuf>,
    /// Manifest of clusters to bring up on machines; - is stdin
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// Port of the stand-in machines of clusters [default: that of the manifest]
    #[arg(long, value_name = "PORT", requires = "cluster", conflicts_with = "expansion", value_parser = clap::value_parser!(u16).range(1..))]
    stand_in_port: Option<u16>,
    #[command(flatten)]
    package: PackageFlags,
    /// Directory of the files of clusters [default: the directory of --cluster]
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Provider folder of clusters with the provider baremetal
    #[arg(long, value_name = "DIR")]
    provider: Option<PathBuf>,
    /// Exit when all clusters are Running and all plugins are Ready, or one fails
    #[arg(long)]
    once: bool,
    /// Kubeconfig to add the cluster to; other clusters in it are kept
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_address)]
    listen: SocketAddr,
    /// Rewrite all images to this registry, unless a plugin sets its own
    #[arg(long, value_name = "HOST[/PATH]", value_parser = parse_prefix)]
    image_registry: Option<String>,
    #[command(flatten)]
    mirrors: MirrorFlags,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let package = package::read(args)?;
    runtime::run(up(args, package, printer))
}

async fn up(args: &Args, package: Option<Input>, printer: &Printer) -> anyhow::Result<ExitCode> {
    let plugins = match args.plugins.as_slice() {
        [] => Vec::new(),
        paths => file::read(paths)?,
    };
    let mut manifests = match (&package, &args.cluster) {
        (Some(package), _) => package.manifests(),
        (None, Some(path)) => super::cluster::file::read(path)?,
        (None, None) => Manifests::default(),
    };
    if let Some(port) = args.stand_in_port {
        StandIns::set_port(&mut manifests, port);
    }
    let shutdown = shutdown_signal(Some(SHUTDOWN_LIMIT))?;
    let settings = Settings {
        data: args.data.as_deref(),
        listen: args.listen,
        kubeconfig: args.kubeconfig.as_deref(),
    };
    let platform = Platform::start(settings, &manifests, |kubeconfig| {
        if args.once && kubeconfig.is_temporary() {
            return Ok(());
        }
        printer.line(&kubeconfig.path.display().to_string())
    })
    .await?;
    let result = match package {
        Some(package) => Box::pin(package::run(args, &platform, package, &plugins, shutdown)).await,
        None => run_controller(args, &platform, (plugins, manifests), shutdown).await,
    };
    platform.stop().await;
    let report = result?;
    if args.once && !(report.rows.is_empty() && args.cluster.is_some()) {
        printer.list(crate::arguments::Output::Table, &report.rows)?;
    }
    report.exit_code()
}

/// Runs the controller and prints the progress of the plugins, until a shutdown signal; with `--once`, until the plugins
/// are idle.
async fn run_controller(
    args: &Args,
    platform: &Platform,
    (plugins, manifests): (Vec<Plugin>, Manifests),
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<watch::Report> {
    let client = platform.client.clone();
    let options = outrigger_controller::Options {
        image_registry: args.image_registry.clone(),
        compat: true,
        fetcher: args
            .mirrors
            .apply(outrigger_repository::Options::for_user())?,
        clusters: Some(ClusterOptions {
            files: args
                .files
                .clone()
                .or_else(|| args.cluster.as_deref().map(clusters::files_root)),
            providers: super::provider::providers(args.provider.as_deref())?,
            ..ClusterOptions::default()
        }),
        ..outrigger_controller::Options::default()
    };
    let stop = Arc::new(Notify::new());
    let stopped = {
        let stop = Arc::clone(&stop);
        async move { stop.notified().await }
    };
    let controller = tokio::spawn(outrigger_controller::run(client.clone(), options, stopped));
    let started = Instant::now();
    apply::apply(&client, &plugins).await?;
    let applied = clusters::apply(&client, manifests).await?;
    if !args.once {
        print_next_steps(&platform.kubeconfig, &applied.clusters);
    }
    let stop_when = if args.once {
        watch::StopWhen::Idle
    } else {
        watch::StopWhen::Never
    };
    let watched = async {
        let mut clusters = applied.watch(&client);
        let is_running = clusters.until_idle().await?;
        if args.once && plugins.is_empty() {
            return Ok(watch::Report::default().failed_unless(is_running));
        }
        let plugins = watch::plugins(client.clone(), started, stop_when);
        tokio::select! {
            report = plugins => Ok(report?.failed_unless(is_running)),
            () = clusters.follow() => Ok(watch::Report::default()),
        }
    };
    let result = tokio::select! {
        report = watched => report,
        () = shutdown => Ok(watch::Report::default()),
    };
    stop.notify_one();
    controller.await.context("the controller panicked")?;
    result
}

fn print_next_steps(kubeconfig: &KubeconfigFile, clusters: &[String]) {
    let path = kubeconfig.path.display();
    note("workloads are simulated: pods become ready, but no containers run");
    note("try in another terminal:");
    note(&format!("  export KUBECONFIG={path}"));
    if !kubeconfig.is_current {
        note(&format!("  kubectl config use-context {KUBECONFIG_NAME}"));
    }
    if let [cluster, ..] = clusters {
        note(&format!("  outrigger cluster status {cluster}"));
        note(&format!("  outrigger cluster logs {cluster}"));
        note(&format!(
            "  outrigger machine run --cluster {cluster} -- uname -a"
        ));
        note(&format!("  outrigger cluster delete {cluster}"));
        return note("press Ctrl-C to stop");
    }
    note("  kubectl get plugins -A");
    note("  outrigger plugin list -A");
    note("  outrigger plugin disable NAME");
    note("press Ctrl-C to stop");
}
