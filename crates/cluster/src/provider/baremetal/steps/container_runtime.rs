//! `EnsureContainerRuntime`: installs containerd if the provider folder has it, and configures it.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::changes::Change;
use crate::provider::baremetal::files::{self, Files};
use crate::provider::baremetal::kubeadm_config::CRI_SOCKET;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct ContainerRuntime(pub(super) Arc<Files>);

impl ContainerRuntime {
    fn work(&self, input: &StepInput<'_>) -> Option<Work> {
        let release = self.0.release(input.cluster, input.machine)?;
        let package = files::package(release, "containerd");
        let cni = files::package(release, "cni-plugins").map_or("", |_| "/opt/cni/bin");
        let (text, digest) = match &package {
            Some(package) => (
                format!("install {}", package.file.name),
                package.file.sha256.clone(),
            ),
            None => ("configure containerd".to_owned(), String::new()),
        };
        let work = Work::new(text, include_str!("../scripts/container_runtime.sh"))
            .with(
                "PACKAGE",
                package.map_or_else(String::new, |it| it.destination),
            )
            .with("PACKAGE_DIGEST", digest)
            .with("PAUSE", files::pause_image(release).unwrap_or_default())
            .with("CNI", cni)
            .with("SOCKET", CRI_SOCKET);
        Some(work)
    }

    async fn install(&self, effect: Effect<'_>) -> Result<(), StepError> {
        let input = effect.input();
        let release = self.0.release(effect.cluster, input.machine);
        let package = release.and_then(|release| files::package(release, "containerd"));
        if let Some(package) = package {
            let tree = self.0.tree(&[package]).await?;
            effect.remote.copy(&tree).await?;
        }
        match self.work(&input) {
            Some(work) => work.attempt(effect, &[]).await,
            None => Ok(()),
        }
    }
}

impl Step for ContainerRuntime {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        self.work(input).map(|work| work.plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), self.install(effect).await) }.boxed()
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let release = self.0.release(input.cluster, input.machine);
        let package = release.and_then(|release| files::package(release, "containerd"));
        let copied = package.iter().flat_map(|package| {
            [
                package.change(),
                Change::Unpack {
                    package: package.file.name.clone(),
                    folder: "/usr/local".to_owned(),
                },
                Change::Write {
                    path: "/etc/systemd/system/containerd.service".to_owned(),
                },
            ]
        });
        let written = self.work(input).map(|work| work.changes());
        copied.chain(written.unwrap_or_default()).collect()
    }

    fn copied_bytes(&self, input: &StepInput<'_>) -> u64 {
        let release = self.0.release(input.cluster, input.machine);
        let package = release.and_then(|release| files::package(release, "containerd"));
        package.map_or(0, |package| package.file.size)
    }

    fn is_detached(&self) -> bool {
        true
    }
}
