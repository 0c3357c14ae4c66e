//! `EnsureKubernetesImages`: copies the archives of images that are missing, and imports them into containerd.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::changes::Change;
use crate::provider::baremetal::files::{self, Files, Placed};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct Images(pub(super) Arc<Files>);

impl Images {
    fn images(&self, input: &StepInput<'_>) -> Option<Vec<Placed<'_>>> {
        let machine = input.machine?;
        let release = self.0.release(input.cluster, Some(machine))?;
        let images = files::images(release, machine.spec.role);
        (!images.is_empty()).then_some(images)
    }

    fn work(images: &[Placed<'_>]) -> Work {
        let lines: Vec<String> = images.iter().map(line).collect();
        let text = match images.len() {
            1 => "import 1 image".to_owned(),
            count => format!("import {count} images"),
        };
        Work::new(text, include_str!("../scripts/images.sh")).with("IMAGES", lines.join("\n"))
    }

    async fn import(&self, effect: Effect<'_>) -> Result<(), StepError> {
        let Some(images) = self.images(&effect.input()) else {
            return Ok(());
        };
        let work = Self::work(&images);
        let question = include_str!("../scripts/missing_images.sh");
        let present = Work::new("list images", question)
            .query(effect.remote)
            .await?;
        let present: Vec<&str> = present.lines().collect();
        let is_missing = |image: &Placed<'_>| {
            let recorded = format!("{} {}", image.file.sha256, image.file.name);
            !present.contains(&recorded.as_str())
        };
        let missing: Vec<Placed<'_>> = images.into_iter().filter(is_missing).collect();
        if !missing.is_empty() {
            let tree = self.0.tree(&missing).await?;
            effect.remote.copy(&tree).await?;
        }
        work.attempt(effect, &[]).await
    }
}

/// Digest of the archive, reference, and where the archive is.
fn line(image: &Placed<'_>) -> String {
    let Placed { file, destination } = image;
    format!("{} {} {destination}", file.sha256, file.name)
}

impl Step for Images {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        self.images(input).map(|images| Self::work(&images).plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), self.import(effect).await) }.boxed()
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let images = self.images(input).unwrap_or_default();
        let imported = images.iter().map(|image| Change::Import {
            reference: image.file.name.clone(),
            size: image.file.size,
            sha256: image.file.sha256.clone(),
        });
        imported.collect()
    }

    fn copied_bytes(&self, input: &StepInput<'_>) -> u64 {
        let images = self.images(input).unwrap_or_default();
        images.iter().map(|image| image.file.size).sum()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
