//! `up --expansion`: the steps of the installer on the local cluster, with stand-in machines.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use outrigger_installer::{Folders, Outcome, Range};

use super::{Args, apply, print_next_steps, watch};
use crate::commands::install::{self, Input, Origin, Setup, SiteInputs};
use crate::commands::local_platform::{Platform, private_temporary_directory};

/// The cluster without `--cluster`: one stand-in machine.
const DEFAULT_CLUSTER: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Cluster
metadata:
  name: local
  annotations: {outrigger.dev/stand-in-machines: \"true\"}
spec:
  version: 1.36.4
  clusterCIDR: 10.244.0.0/16
  machines:
    - {ip: 127.0.76.1, port: 2276, password: b3V0cmlnZ2Vy}
";

/// The folder of the installation: that of `--data`, or one that is removed on drop.
struct DataFolder {
    path: PathBuf,
    is_temporary: bool,
}

impl DataFolder {
    fn of(args: &Args) -> anyhow::Result<Self> {
        Ok(match &args.data {
            Some(path) => Self {
                path: path.clone(),
                is_temporary: false,
            },
            None => Self {
                path: private_temporary_directory()?,
                is_temporary: true,
            },
        })
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if self.is_temporary {
            // What is left behind is private.
            let _ = fs_err::remove_dir_all(&self.path);
        }
    }
}

/// Reads and verifies the package, and merges it into the configuration.
pub(super) fn read(args: &Args) -> anyhow::Result<Option<Input>> {
    if !args.package.is_given() {
        return Ok(None);
    }
    let site = SiteInputs {
        config: match &args.cluster {
            Some(path) => Origin::File(path),
            None => Origin::BuiltIn("the default cluster", DEFAULT_CLUSTER),
        },
        hooks: None,
        files: args.files.as_deref(),
        provider: args.provider.as_deref(),
        registry: None,
    };
    Input::read(&args.package, None, site).map(Some)
}

/// Installs the package, and then runs as without it.
pub(super) async fn run(
    args: &Args,
    platform: &Platform,
    mut input: Input,
    plugins: &[outrigger_api::plugin::Plugin],
    shutdown: impl Future<Output = ()> + Clone,
) -> anyhow::Result<watch::Report> {
    let skip = install::skipped(&[], &input)?;
    let data = DataFolder::of(args)?;
    let name = input.name().to_owned();
    let setup = Setup {
        folders: Folders::new(&data.path),
        registry_listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        provider: args.provider.clone(),
        image_registry: args.image_registry.clone(),
        push: outrigger_oci::Options::default(),
        fetcher: args
            .mirrors
            .apply(outrigger_repository::Options::for_user())?,
        range: Range::default(),
    };
    let (outcome, running) = setup
        .run(platform, &mut input, skip, shutdown.clone())
        .await?;
    let after = async {
        match outcome {
            Outcome::Done => {}
            Outcome::Interrupted => return Ok(watch::Report::default()),
            Outcome::Failed(steps) => {
                let failed = steps
                    .iter()
                    .map(|(step, message)| format!("{step}: {message}"));
                let failed: Vec<String> = failed.collect();
                bail!("the installation failed: {}", failed.join("; "));
            }
        }
        running.start_controller().await?;
        let started = Instant::now();
        apply::apply(&platform.client, plugins).await?;
        let stop_when = if args.once {
            watch::StopWhen::Idle
        } else {
            print_next_steps(&platform.kubeconfig, &[name]);
            watch::StopWhen::Never
        };
        watch::plugins(platform.client.clone(), started, stop_when).await
    };
    let result = tokio::select! {
        report = after => report,
        () = shutdown => Ok(watch::Report::default()),
    };
    running.stop().await;
    result
}
