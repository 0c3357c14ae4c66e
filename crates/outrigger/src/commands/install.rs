//! `outrigger install`: brings an expansion package and the first cluster to a site.

mod configuration;
mod input;
mod progress;
mod site;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, anyhow, ensure};
use jiff::Timestamp;
use kube::Client;
use outrigger_api::step::installer;
use outrigger_controller::ClusterOptions;
use outrigger_flow::Record;
use outrigger_installer::{
    Folders, Installer, LocalRegistry, Outcome, Range, RunningOperator, planned,
};

pub(crate) use self::configuration::Origin;
pub(crate) use self::input::{Input, PackageFlags, SiteInputs};
use self::progress::Progress;
use self::site::LocalSite;
use super::listen::parse_address;
use super::local_platform::{Platform, Settings};
use super::runtime::{self, SHUTDOWN_LIMIT, shutdown_signal};
use crate::arguments::OutputFlag;
use crate::commands::mirror_flags::MirrorFlags;
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError, hinted, note};

const EXAMPLES: &str = "\
Examples:
  outrigger install --config tke.json --plan          Check everything, and print what would be done
  outrigger install --config tke.json                 Use the package in ./expansion, if there is one
  outrigger install --expansion site.tar.zst --config cluster.yaml --trusted-key site.pub
  outrigger install --config cluster.yaml --hooks ./hooks   Without a package
  outrigger install --config tke.json --from UploadCharts   Run this step and all later ones again";

/// The package that is used if the command line names none.
const DEFAULT_PACKAGE: &str = "expansion";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    package: PackageFlags,
    /// Configuration: tke.json, or the manifest of a cluster
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// Folder with hooks of the site: pre-install, post-cluster-ready, post-install
    #[arg(long, value_name = "DIR")]
    hooks: Option<PathBuf>,
    /// Print what would be done, and change nothing
    #[arg(long, visible_alias = "dry-run")]
    plan: bool,
    /// Run this step and all later ones again, also if they are done
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    from: Option<&'static str>,
    /// Stop after this step
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    until: Option<&'static str>,
    /// Step that is not run; repeatable
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    skip: Vec<&'static str>,
    /// Folder with the state of the installation: API server, registry, hooks, kubeconfig
    #[arg(long, value_name = "DIR", default_value = "outrigger-data")]
    data: PathBuf,
    /// Directory of the files of the configuration [default: the directory of --config]
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Provider folder of clusters with the provider baremetal
    #[arg(long, value_name = "DIR")]
    provider: Option<PathBuf>,
    /// Address of the API server; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_address)]
    listen: SocketAddr,
    /// Address of the registry with the images and charts of the package; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_address)]
    registry_listen: SocketAddr,
    /// Registry of the site, and optionally a path in it, to push the images of the package to; they keep their paths
    #[arg(long, value_name = "HOST[:PORT][/PATH]")]
    push_to: Option<String>,
    /// Reach the registry of --push-to over plain HTTP
    #[arg(long, requires = "push_to")]
    push_plain_http: bool,
    /// Rewrite the images of plugins to this registry, unless a plugin sets its own [default: that of --push-to]
    #[arg(long, value_name = "HOST[/PATH]")]
    image_registry: Option<String>,
    /// Keep serving API, registry and controller after the installation, until Ctrl-C
    #[arg(long)]
    serve: bool,
    #[command(flatten)]
    mirrors: MirrorFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// The id of a step of the installer, by any of its names.
fn parse_step(name: &str) -> Result<&'static str, String> {
    let similar = || match installer::nearest_name(name) {
        Some(similar) => format!("the installer has no step {name:?}; did you mean {similar}?"),
        None => format!("the installer has no step {name:?}"),
    };
    let found = installer::find(name).map(|step| step.id);
    found.ok_or_else(similar)
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    ensure_range(args)?;
    let site = SiteInputs {
        config: Origin::File(&args.config),
        hooks: args.hooks.as_deref(),
        files: args.files.as_deref(),
        provider: args.provider.as_deref(),
        registry: args.push_to.as_deref(),
    };
    let input = Input::read(&args.package, Some(Path::new(DEFAULT_PACKAGE)), site)?;
    let skip = skipped(&args.skip, &input)?;
    if args.plan {
        return plan(args, &input, &skip, printer);
    }
    runtime::run(install(args, input, skip, printer))
}

fn ensure_range(args: &Args) -> Result<(), UsageError> {
    let position = |id: &str| {
        let mut steps = installer::INSTALLER_STEPS.iter();
        steps.position(|step| step.id == id)
    };
    if let (Some(from), Some(until)) = (args.from, args.until)
        && position(from) > position(until)
    {
        let text = format!("--from {from} is after --until {until}");
        return Err(UsageError(text));
    }
    Ok(())
}

/// The steps that command line, configuration and package skip.
pub(super) fn skipped(
    flags: &[&'static str],
    input: &Input,
) -> anyhow::Result<BTreeSet<&'static str>> {
    let mut skip: BTreeSet<&'static str> = flags.iter().copied().collect();
    for name in &input.skip_steps {
        let id = parse_step(name).map_err(|message| anyhow!("skipped steps: {message}"))?;
        skip.insert(id);
    }
    for id in &skip {
        let step = installer::find(id).filter(|step| step.is_skippable);
        ensure!(step.is_some(), "step {id} cannot be skipped");
    }
    Ok(skip)
}

/// Prints the plan. A data folder that is there is only read.
fn plan(
    args: &Args,
    input: &Input,
    skip: &BTreeSet<&'static str>,
    printer: &Printer,
) -> anyhow::Result<ExitCode> {
    let record = if has_state(&args.data) {
        runtime::run(read_record(args, input))?
    } else {
        Record::default()
    };
    let steps = planned(&input.contents, &record, skip);
    progress::print_plan(&steps, args.output.output, printer)?;
    Ok(ExitCode::SUCCESS)
}

fn has_state(data: &Path) -> bool {
    data.join("kubeconfig").exists()
}

async fn read_record(args: &Args, input: &Input) -> anyhow::Result<Record> {
    let options = outrigger_apiserver::server::Options::in_folder(&args.data);
    let server = super::embedded_server::open(options).await?;
    let client = Client::new(server.service(), "default");
    let record = Installer::record(&client, input.name()).await;
    server.close().await;
    Ok(record?)
}

async fn install(
    args: &Args,
    mut input: Input,
    skip: BTreeSet<&'static str>,
    printer: &Printer,
) -> anyhow::Result<ExitCode> {
    let shutdown = shutdown_signal(Some(SHUTDOWN_LIMIT))?;
    let settings = Settings {
        data: Some(&args.data),
        listen: args.listen,
        kubeconfig: None,
    };
    let manifests = input.manifests();
    let platform = Platform::start(settings, &manifests, |_| Ok(())).await?;
    let setup = Setup {
        folders: Folders::new(&args.data),
        registry_listen: args.registry_listen,
        provider: args.provider.clone(),
        image_registry: args.image_registry.clone().or_else(|| args.push_to.clone()),
        push: push_options(args)?,
        fetcher: args
            .mirrors
            .apply(outrigger_repository::Options::for_user())?,
        range: Range {
            from: args.from,
            until: args.until,
        },
    };
    let started = Instant::now();
    let installed = setup
        .run(&platform, &mut input, skip, shutdown.clone())
        .await;
    let result = match installed {
        Ok((outcome, running)) => {
            let code = report(&outcome, started, args, printer);
            if args.serve && outcome == Outcome::Done {
                running.start_controller().await?;
                note("serving; press Ctrl-C to stop");
                shutdown.await;
            }
            running.stop().await;
            code
        }
        Err(error) => Err(error),
    };
    platform.stop().await;
    result
}

/// Credentials are those of Docker.
fn push_options(args: &Args) -> anyhow::Result<outrigger_oci::Options> {
    let Some(registry) = &args.push_to else {
        return Ok(outrigger_oci::Options::default());
    };
    let host = registry.split('/').next().unwrap_or_default().to_owned();
    let plain_http = args.push_plain_http.then_some(host);
    Ok(outrigger_oci::Options {
        plain_http: plain_http.into_iter().collect(),
        docker: outrigger_oci::DockerConfig::load()?,
        ..outrigger_oci::Options::default()
    })
}

fn report(
    outcome: &Outcome,
    started: Instant,
    args: &Args,
    printer: &Printer,
) -> anyhow::Result<ExitCode> {
    match outcome {
        Outcome::Done => {
            let seconds = started.elapsed().as_secs_f64();
            let what = match args.until {
                Some(step) => format!("done until {step}"),
                None => "installed".to_owned(),
            };
            note(&format!("{what} in {seconds:.1} s"));
            let kubeconfig = Folders::new(&args.data).kubeconfig();
            if kubeconfig.exists() {
                printer.line(&kubeconfig.display().to_string())?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Failed(steps) => {
            let failed = steps
                .iter()
                .map(|(step, message)| format!("{step}: {message}"));
            let failed: Vec<String> = failed.collect();
            Err(anyhow!("the installation failed: {}", failed.join("; ")))
                .hint("the same command tries again; what is done is not repeated")
        }
        Outcome::Interrupted => {
            Err(anyhow!("interrupted")).hint("the same command goes on where it was interrupted")
        }
    }
}

/// What an installation needs beside its contents.
pub(super) struct Setup {
    pub(super) folders: Folders,
    pub(super) registry_listen: SocketAddr,
    pub(super) provider: Option<PathBuf>,
    pub(super) image_registry: Option<String>,
    /// How the registry of the site is accessed.
    pub(super) push: outrigger_oci::Options,
    pub(super) fetcher: outrigger_repository::Options,
    pub(super) range: Range,
}

/// What goes on running after an installation.
pub(super) struct Running {
    operator: Option<RunningOperator>,
    registry: Option<LocalRegistry>,
    site: Arc<LocalSite>,
}

impl Running {
    /// Starts the controller, unless a step needed it before.
    pub(super) async fn start_controller(&self) -> anyhow::Result<()> {
        self.site.start().await
    }

    pub(super) async fn stop(self) {
        drop(self.operator);
        self.site.stop().await;
        if let Some(registry) = self.registry {
            registry.stop().await;
        }
    }
}

impl Setup {
    pub(super) async fn run(
        self,
        platform: &Platform,
        input: &mut Input,
        skip: BTreeSet<&'static str>,
        shutdown: impl Future<Output = ()>,
    ) -> anyhow::Result<(Outcome, Running)> {
        let contents = Arc::new(std::mem::take(&mut input.contents));
        let options = outrigger_controller::Options {
            image_registry: self.image_registry,
            compat: true,
            fetcher: self.fetcher,
            ..outrigger_controller::Options::default()
        };
        let files = if contents.has_staged_files() {
            Some(self.folders.files())
        } else {
            contents.site_files.clone()
        };
        let overrides = contents.package.as_ref().map(|package| &package.provider);
        let provider = match overrides {
            Some(overrides) if !overrides.is_empty() => Some(self.folders.provider()),
            _ => self.provider,
        };
        let site = Arc::new(LocalSite::new(
            platform,
            std::mem::take(&mut input.secrets),
            site::ControllerSettings {
                options,
                clusters: ClusterOptions {
                    files,
                    ..ClusterOptions::default()
                },
                provider,
            },
        ));
        let registry = match &contents.package {
            Some(package) if !(package.images.is_empty() && package.charts.is_empty()) => {
                Some(start_registry(&self.folders, self.registry_listen).await?)
            }
            _ => None,
        };
        let mut installer = Installer {
            client: platform.client.clone(),
            name: input.name().to_owned(),
            spec: input.spec(&skip),
            contents: Arc::clone(&contents),
            folders: self.folders,
            registry,
            site: Arc::<LocalSite>::clone(&site),
            endpoint: platform.endpoint()?,
            push: self.push,
            skip: skip.clone(),
            range: self.range,
            now: Timestamp::now,
        };
        let progress = Progress::new(&contents);
        let outcome = installer
            .run(shutdown, &mut |transition| progress.show(transition))
            .await;
        let mut running = Running {
            operator: None,
            registry: installer.registry.take(),
            site,
        };
        match outcome {
            Ok((outcome, operator)) => {
                running.operator = Some(operator);
                Ok((outcome, running))
            }
            Err(error) => {
                running.stop().await;
                Err(error.into())
            }
        }
    }
}

/// Serves the registry at the port that it had before, if that is free: charts are found there.
async fn start_registry(folders: &Folders, address: SocketAddr) -> anyhow::Result<LocalRegistry> {
    let remembered = folders.registry().join("port");
    let earlier = fs_err::read_to_string(&remembered).ok();
    let earlier = earlier.and_then(|port| port.trim().parse::<u16>().ok());
    if let Some(port) = earlier.filter(|_| address.port() == 0) {
        let address = SocketAddr::new(address.ip(), port);
        if let Ok(registry) = LocalRegistry::start(&folders.registry(), address).await {
            return Ok(registry);
        }
    }
    let started = LocalRegistry::start(&folders.registry(), address).await;
    let registry = started.map_err(|error| {
        hinted(
            error,
            Some("choose another address with --registry-listen".to_owned()),
        )
    });
    let registry = registry.context("failed to start the registry")?;
    fs_err::write(&remembered, registry.address().port().to_string())?;
    Ok(registry)
}
