//! `EnsureCNIPlugins`: unpacks CNI plugins if the provider folder has them.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::changes::Change;
use crate::provider::baremetal::files::{self, Files, Placed};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct CniPlugins(pub(super) Arc<Files>);

impl CniPlugins {
    fn package(&self, input: &StepInput<'_>) -> Option<Placed<'_>> {
        let release = self.0.release(input.cluster, input.machine)?;
        files::package(release, "cni-plugins")
    }

    fn work(package: &Placed<'_>) -> Work {
        let text = format!("unpack {}", package.file.name);
        Work::new(text, include_str!("../scripts/cni_plugins.sh"))
            .with("PACKAGE", &package.destination)
            .with("PACKAGE_DIGEST", &package.file.sha256)
    }

    async fn install(&self, effect: Effect<'_>) -> Result<(), StepError> {
        let Some(package) = self.package(&effect.input()) else {
            return Ok(());
        };
        let work = Self::work(&package);
        let tree = self.0.tree(&[package]).await?;
        effect.remote.copy(&tree).await?;
        work.attempt(effect, &[]).await
    }
}

impl Step for CniPlugins {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        Some(Self::work(&self.package(input)?).plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), self.install(effect).await) }.boxed()
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let package = self.package(input);
        let changes = package.iter().flat_map(|package| {
            let unpacked = Change::Unpack {
                package: package.file.name.clone(),
                folder: "/opt/cni/bin".to_owned(),
            };
            [package.change(), unpacked]
        });
        changes.collect()
    }

    fn copied_bytes(&self, input: &StepInput<'_>) -> u64 {
        self.package(input).map_or(0, |package| package.file.size)
    }

    fn is_detached(&self) -> bool {
        true
    }
}
