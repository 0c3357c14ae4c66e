//! `outrigger serve`: keeps the plugins of a cluster installed, healthy and in order.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;
use outrigger_controller::{Options, crds, leader_election};
use tokio::signal::unix::{SignalKind, signal};

use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger serve --install-crds                          The cluster of your kubeconfig, or the one it runs in
  outrigger serve --context site-7 --namespace addons
  outrigger serve --image-registry registry.local:5000
  outrigger serve --install-crds --compat                 KubeGems' and TKEStack's objects too";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The kubeconfig of the cluster; that of the environment if not given, else the cluster it runs in
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Care for the plugins of this namespace only; may be given again
    #[arg(short, long, value_name = "NAME")]
    namespace: Vec<String>,
    /// Take all images from this registry, unless a plugin names its own
    #[arg(long, value_name = "HOST[/PATH]")]
    image_registry: Option<String>,
    /// Put the definitions of the kinds into the cluster first
    #[arg(long)]
    install_crds: bool,
    /// Also take plugins and bundles of KubeGems and apps of TKEStack
    #[arg(long)]
    compat: bool,
    /// Work without asking whether another controller works
    #[arg(long)]
    no_leader_election: bool,
    /// Where the lease is that says who leads
    #[arg(long, value_name = "NAME", default_value = "default")]
    lease_namespace: String,
    /// How many plugins are worked on at a time
    #[arg(long, value_name = "COUNT", default_value_t = 16)]
    parallel: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(serve(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let client = connect(args).await?;
    let version = client.apiserver_version().await;
    let version = version
        .context("the cluster cannot be reached")
        .hint("is it running, and is this the right --kubeconfig and --context?")?;
    if args.install_crds {
        let installed = crds::install(&client, args.compat).await;
        installed.hint("--install-crds needs the right to write custom resource definitions")?;
    }
    check_definitions(&client).await?;
    let shutdown = told_to_stop()?;
    note(&format!(
        "serves plugins on Kubernetes {}",
        version.git_version
    ));
    outrigger_controller::run(client, options(args), shutdown).await;
    Ok(())
}

/// Without its kinds the controller would wait for them for ever.
async fn check_definitions(client: &Client) -> anyhow::Result<()> {
    let plugins: Api<Plugin> = Api::all(client.clone());
    let first = ListParams::default().limit(1);
    match plugins.list_metadata(&first).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            Err(anyhow::anyhow!("the cluster does not know plugins"))
                .hint("--install-crds makes it know them")
        }
        _ => Ok(()),
    }
}

fn options(args: &Args) -> Options {
    let leader_election = (!args.no_leader_election).then(|| {
        let identity = format!("outrigger-{:016x}", fresh_number());
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

/// A number that no other process has.
fn fresh_number() -> u64 {
    getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
}

async fn connect(args: &Args) -> anyhow::Result<Client> {
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..KubeConfigOptions::default()
    };
    let config = match &args.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            Config::from_custom_kubeconfig(kubeconfig, &options)
                .await
                .with_context(|| format!("{} cannot be used", path.display()))?
        }
        None if args.context.is_some() => Config::from_kubeconfig(&options).await?,
        None => Config::infer()
            .await
            .context("no cluster is known")
            .hint("say which with --kubeconfig FILE, or start one: outrigger up")?,
    };
    Client::try_from(config).context("failed to make a client")
}

/// Ends when the process is told to.
pub(super) fn told_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminated = signal(SignalKind::terminate()).context("failed to wait for signals")?;
    let mut interrupted = signal(SignalKind::interrupt()).context("failed to wait for signals")?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    })
}
