//! `attack plugins`: hostile repositories, specs and neighbors, and an API server that is down. A good plugin is
//! installed, changed and removed meanwhile, each within two seconds.

mod edits;
mod good_plugin;
mod hostile_charts;
mod hostile_specs;
mod outage;
mod repositories;
mod rounds;
mod shared;
mod shutdown;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use self::outage::Fault;
use self::repositories::Behavior;
use super::cluster::{Cluster, ServerKind};
use crate::attack::{self, Named, Outcome};
use crate::process::Controller;
use crate::procfs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    attack: attack::Args,
    /// Duration of an outage of the API server in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The API server
    #[arg(long, value_enum, default_value_t)]
    server: ServerKind,
}

/// The limit for each step of the good plugin.
const STEP: Duration = Duration::from_secs(2);

/// The limit for the peak memory of the controller in MiB.
const MAX_MEMORY: u64 = 700;

#[derive(Debug, Clone, Copy)]
enum Attack {
    Repositories(Behavior),
    HostileSpecs,
    LoopingCharts,
    MultiplyingChart,
    SharedReleases,
    SharedObjects,
    Shutdown,
    Edits,
    Rounds,
    Fault(Fault),
}

const ATTACKS: &[Attack] = &[
    Attack::Repositories(Behavior::Silent),
    Attack::Repositories(Behavior::Slow),
    Attack::Repositories(Behavior::Lying),
    Attack::Repositories(Behavior::Endless),
    Attack::Repositories(Behavior::Dying),
    Attack::HostileSpecs,
    Attack::LoopingCharts,
    Attack::MultiplyingChart,
    Attack::SharedReleases,
    Attack::SharedObjects,
    Attack::Shutdown,
    Attack::Edits,
    Attack::Rounds,
    Attack::Fault(Fault::Down),
    Attack::Fault(Fault::Hang),
];

impl Attack {
    /// Why the attack cannot run on this server, if it cannot.
    fn skip_reason(self, server: ServerKind) -> Option<&'static str> {
        let stops_server = matches!(self, Self::Fault(_));
        let reason = "only the embedded API server can be stopped and continued";
        (stops_server && server == ServerKind::Real).then_some(reason)
    }
}

impl Named for Attack {
    fn name(&self) -> &str {
        match self {
            Self::Repositories(Behavior::Silent) => "20 repositories that never answer",
            Self::Repositories(Behavior::Slow) => "20 repositories that send a byte per second",
            Self::Repositories(Behavior::Lying) => "20 repositories that lie",
            Self::Repositories(Behavior::Endless) => "20 repositories without end",
            Self::Repositories(Behavior::Dying) => "20 repositories that die in the middle",
            Self::HostileSpecs => "hostile health rules, timeouts and values",
            Self::LoopingCharts => "60 charts that never end",
            Self::MultiplyingChart => "a chart that creates itself twice",
            Self::SharedReleases => "plugins that share a release",
            Self::SharedObjects => "plugins that share objects",
            Self::Shutdown => "60 hostile plugins during shutdowns",
            Self::Edits => "edits by kubectl, Helm 3, Helm 4 and a controller",
            Self::Rounds => "300 plugins again and again",
            Self::Fault(Fault::Down) => "API server is down",
            Self::Fault(Fault::Hang) => "API server hangs",
        }
    }

    /// The shutdown has to take less than a second, which a build without optimizations on busy cores does not promise.
    fn is_short(&self) -> bool {
        !matches!(
            self,
            Self::Shutdown | Self::Edits | Self::Rounds | Self::Fault(_)
        )
    }
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let run = async |attack: &Attack, directory: &Path| {
        let started = Cluster::start_with(binary, directory, args.server).await;
        let (mut cluster, controller) = started?;
        let answer = Box::pin(execute(*attack, args, &mut cluster, &controller)).await;
        let answer = answer.with_context(|| cluster.controller_log_tail())?;
        let pid = controller.pid().context("the controller has exited")?;
        let peak = procfs::peak_memory(pid).context("the controller has exited")?;
        ensure!(
            peak >> 20 <= MAX_MEMORY,
            "the controller used {} MiB",
            peak >> 20
        );
        Ok(Outcome {
            answer,
            peak: Some(peak),
            neighbor: None,
        })
    };
    let skip_reason = |attack: &Attack| attack.skip_reason(args.server);
    attack::run_unless(&args.attack, ATTACKS, skip_reason, run).await
}

async fn execute(
    attack: Attack,
    args: &Args,
    cluster: &mut Cluster,
    controller: &Controller,
) -> anyhow::Result<String> {
    let limit = STEP * args.attack.patience;
    match attack {
        Attack::Repositories(behavior) => repositories::attack(cluster, behavior, limit).await,
        Attack::HostileSpecs => hostile_specs::attack(cluster, limit).await,
        Attack::LoopingCharts => hostile_charts::looping(cluster, limit).await,
        Attack::MultiplyingChart => hostile_charts::multiplying(cluster, limit).await,
        Attack::SharedReleases => shared::releases(cluster).await,
        Attack::SharedObjects => shared::objects(cluster).await,
        Attack::Shutdown => shutdown::attack(cluster, controller).await,
        Attack::Edits => edits::attack(cluster).await,
        Attack::Rounds => rounds::attack(cluster, controller).await,
        Attack::Fault(fault) => outage::inject(fault, args.seconds, cluster, controller).await,
    }
}
