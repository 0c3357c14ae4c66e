//! `outrigger up`: a cluster to try things on, with everything in one process.

mod follow;
mod live;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use outrigger_api::plugin::Plugin;
use outrigger_apiserver::server::{Options, Server};
use outrigger_apiserver::transport::{Listener, write_kubeconfig};
use outrigger_controller::crds;
use outrigger_simulate as simulate;
use tokio::sync::Notify;

use super::plugin::file;
use super::serve::told_to_stop;
use crate::printer::Printer;
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger up --plugins examples/plugins
  outrigger up --data ./data --kubeconfig ./kubeconfig
  outrigger up --plugins site.yaml --once          Ends when all are Ready; 1 if one fails";

/// How long a simulated pod takes to start.
const SIMULATED_DELAY: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Keep everything in this folder; without it, everything is gone at the end
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Plugins to begin with: a file, or a folder of files; may be given again
    #[arg(long, value_name = "FILE|DIR")]
    plugins: Vec<PathBuf>,
    /// End when all plugins are Ready, or one fails
    #[arg(long)]
    once: bool,
    /// Where to write the kubeconfig
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Take all images from this registry, unless a plugin names its own
    #[arg(long, value_name = "HOST[/PATH]")]
    image_registry: Option<String>,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(up(args, printer))
}

async fn up(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let plugins = match args.plugins.as_slice() {
        [] => Vec::new(),
        paths => file::read(paths)?,
    };
    let stopped = told_to_stop()?;
    let options = match &args.data {
        Some(folder) => Options::in_folder(folder),
        None => Options::in_memory(),
    };
    let listener = Listener::bind(args.listen, false).await?;
    let address = listener.address();
    let server = Server::open(options)
        .await
        .context("failed to open the API server")?;
    server.serve(listener)?;
    server.run_controllers();
    simulate::start(
        &server,
        simulate::Options {
            delay: SIMULATED_DELAY,
            ..simulate::Options::default()
        },
    );
    let kubeconfig = Kubeconfig::write(args, |path| {
        write_kubeconfig(path, address, server.credentials())
    })?;
    printer.line(&kubeconfig.path.display().to_string())?;
    let client = Client::new(server.service(), "default");
    crds::install(&client, true).await?;
    let result = work(args, client, plugins, &kubeconfig.path, stopped).await;
    server.close().await;
    let report = result?;
    if args.once {
        printer.list(crate::arguments::Output::Table, &report.rows)?;
    }
    Ok(report.exit_code())
}

/// Runs the controller, and tells how the plugins get on, until it is told to stop or all is done.
async fn work(
    args: &Args,
    client: Client,
    plugins: Vec<Plugin>,
    kubeconfig: &Path,
    stopped: impl Future<Output = ()>,
) -> anyhow::Result<follow::Report> {
    let options = outrigger_controller::Options {
        image_registry: args.image_registry.clone(),
        compat: true,
        fetcher: outrigger_repository::Options::for_user(),
        ..outrigger_controller::Options::default()
    };
    let end = Arc::new(Notify::new());
    let shutdown = {
        let end = Arc::clone(&end);
        async move { end.notified().await }
    };
    let controller = tokio::spawn(outrigger_controller::run(client.clone(), options, shutdown));
    let began = Instant::now();
    apply(&client, &plugins).await?;
    tell(kubeconfig, args.once);
    let goal = if args.once {
        follow::Goal::AllSettled
    } else {
        follow::Goal::Never
    };
    let result = tokio::select! {
        report = follow::plugins(client, began, goal) => report,
        () = stopped => Ok(follow::Report::default()),
    };
    end.notify_one();
    controller.await.context("the controller broke down")?;
    result
}

async fn apply(client: &Client, plugins: &[Plugin]) -> anyhow::Result<()> {
    let parameters = PatchParams::apply("outrigger-up").force();
    for plugin in plugins {
        let mut plugin = plugin.clone();
        let (namespace, name) = (plugin.namespace().to_owned(), plugin.name().to_owned());
        plugin.status = None;
        make_namespace(client, &namespace).await?;
        let api: Api<Plugin> = Api::namespaced(client.clone(), &namespace);
        api.patch(&name, &parameters, &Patch::Apply(&plugin))
            .await
            .with_context(|| format!("failed to apply plugin {namespace}/{name}"))?;
    }
    Ok(())
}

async fn make_namespace(client: &Client, name: &str) -> anyhow::Result<()> {
    let value =
        serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let api: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let parameters = PatchParams::apply("outrigger-up");
    api.patch(name, &parameters, &Patch::Apply(&value))
        .await
        .with_context(|| format!("failed to make the namespace {name}"))?;
    Ok(())
}

fn tell(kubeconfig: &Path, is_once: bool) {
    if is_once {
        return;
    }
    let path = kubeconfig.display();
    note("workloads are simulated: they become ready, but nothing runs");
    note("try in another terminal:");
    note(&format!("  export KUBECONFIG={path}"));
    note("  kubectl get plugins -A");
    note("  outrigger plugin list -A");
    note("  outrigger plugin disable NAME");
    note("Ctrl-C ends it");
}

/// A kubeconfig on disk. One that nobody asked for goes again.
struct Kubeconfig {
    path: PathBuf,
    own_folder: Option<PathBuf>,
}

impl Kubeconfig {
    fn write<E>(args: &Args, write: impl FnOnce(&Path) -> Result<(), E>) -> anyhow::Result<Self>
    where
        E: Into<anyhow::Error>,
    {
        let (path, own_folder) = match (&args.kubeconfig, &args.data) {
            (Some(path), _) => (path.clone(), None),
            (None, Some(data)) => (data.join("kubeconfig"), None),
            (None, None) => {
                let name = format!("outrigger-{}", std::process::id());
                let folder = std::env::temp_dir().join(name);
                fs_err::create_dir_all(&folder)?;
                (folder.join("kubeconfig"), Some(folder))
            }
        };
        let path = std::path::absolute(&path).unwrap_or(path);
        write(&path).map_err(Into::into)?;
        Ok(Self { path, own_folder })
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        if let Some(folder) = &self.own_folder {
            // What is left of it harms nobody: its server is gone.
            let _ = fs_err::remove_dir_all(folder);
        }
    }
}
