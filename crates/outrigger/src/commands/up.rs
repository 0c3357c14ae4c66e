//! `outrigger up`: a local cluster in one process.

mod apply;
mod clusters;
mod stand_ins;
mod status_lines;
mod watch;

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kube::Client;
use outrigger_api::plugin::Plugin;
use outrigger_apiserver::server::Options;
use outrigger_apiserver::transport::{KUBECONFIG_NAME, Written};
use outrigger_controller::{ClusterOptions, crds};
use outrigger_simulate as simulate;
use tokio::sync::Notify;

use self::stand_ins::StandIns;
pub(crate) use self::stand_ins::check as check_stand_ins;
use super::cluster::file::Manifests;
use super::listen::{self, parse_address};
use super::plugin::file;
use super::runtime::{self, SHUTDOWN_LIMIT, shutdown_signal};
use super::{embedded_server, kubeconfig_file};
use crate::commands::mirror_flags::MirrorFlags;
use crate::commands::registry_name::parse_prefix;
use crate::printer::Printer;
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger up --plugins examples/plugins
  outrigger up --cluster cluster.json              Bring up a cluster on machines over SSH
  outrigger up --data ./data --kubeconfig ./kubeconfig
  outrigger up --plugins site.yaml --once          Exit when all are Ready, with 1 if one fails";

/// How long a simulated pod takes to start.
const SIMULATED_DELAY: Duration = Duration::from_millis(100);

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
    #[arg(long, value_name = "PORT", requires = "cluster", value_parser = clap::value_parser!(u16).range(1..))]
    stand_in_port: Option<u16>,
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
    runtime::run(up(args, printer))
}

async fn up(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let plugins = match args.plugins.as_slice() {
        [] => Vec::new(),
        paths => file::read(paths)?,
    };
    let mut manifests = match &args.cluster {
        Some(path) => super::cluster::file::read(path)?,
        None => Manifests::default(),
    };
    if let Some(port) = args.stand_in_port {
        StandIns::set_port(&mut manifests, port);
    }
    let shutdown = shutdown_signal(Some(SHUTDOWN_LIMIT))?;
    let options = match &args.data {
        Some(directory) => Options::in_folder(directory),
        None => Options::in_memory(),
    };
    let listener = listen::bind(args.listen, false, args.data.as_deref()).await?;
    let address = listener.address();
    let server = embedded_server::open(options).await?;
    // The server has made the data folder private.
    let stand_ins = StandIns::start(&manifests, args.data.as_deref()).await?;
    server.serve(listener);
    server.run_controllers();
    simulate::start(
        &server,
        simulate::Options {
            delay: SIMULATED_DELAY,
            ..simulate::Options::default()
        },
    );
    let kubeconfig =
        KubeconfigFile::write(args, |path| kubeconfig_file::write(path, address, &server))?;
    if !(args.once && kubeconfig.temporary_directory.is_some()) {
        printer.line(&kubeconfig.path.display().to_string())?;
    }
    let client = Client::new(server.service(), "default");
    crds::install(&client, true).await?;
    let objects = (plugins, manifests);
    let result = run_controller(args, client, objects, &kubeconfig, shutdown).await;
    tokio::join!(server.close(), stand_ins.stop());
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
    client: Client,
    (plugins, manifests): (Vec<Plugin>, Manifests),
    kubeconfig: &KubeconfigFile,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<watch::Report> {
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
        print_next_steps(kubeconfig, &applied.clusters);
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

/// A kubeconfig on disk, removed on drop if it is in a temporary directory.
struct KubeconfigFile {
    path: PathBuf,
    is_current: bool,
    temporary_directory: Option<PathBuf>,
}

impl KubeconfigFile {
    fn write(
        args: &Args,
        write: impl Fn(&Path) -> anyhow::Result<Written>,
    ) -> anyhow::Result<Self> {
        let (path, temporary_directory) = match (&args.kubeconfig, &args.data) {
            (Some(path), _) => (path.clone(), None),
            (None, Some(data)) => (data.join("kubeconfig"), None),
            (None, None) => {
                let directory = private_temporary_directory()?;
                (directory.join("kubeconfig"), Some(directory))
            }
        };
        let path = std::path::absolute(&path).unwrap_or(path);
        let Written { is_current, .. } = write(&path)?;
        if let (Some(_), Some(data)) = (&args.kubeconfig, &args.data) {
            // For `apiserver backup`.
            write(&data.join("kubeconfig"))?;
        }
        Ok(Self {
            path,
            is_current,
            temporary_directory,
        })
    }
}

/// A new directory with an unpredictable name, for its owner only.
fn private_temporary_directory() -> anyhow::Result<PathBuf> {
    let number = getrandom::u64().context("failed to read random bytes")?;
    let directory = std::env::temp_dir().join(format!("outrigger-{number:016x}"));
    let mut builder = std::fs::DirBuilder::new();
    let created = builder.mode(0o700).create(&directory);
    created.with_context(|| format!("failed to create {}", directory.display()))?;
    Ok(directory)
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        if let Some(directory) = &self.temporary_directory {
            // A file that is left behind is harmless: its server has stopped.
            let _ = fs_err::remove_dir_all(directory);
        }
    }
}
