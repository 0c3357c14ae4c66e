//! `EnsurePreflight`: reports everything that keeps a machine from being a node. Changes nothing.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::MachineFacts;

use super::duplicates::duplicates_among_peers;
use crate::provider::baremetal::files::{self, Files};
use crate::provider::baremetal::host_facts::{self, HostFacts};
use crate::provider::baremetal::preflight::{
    Finding, Subject, findings, missing_files, not_ignored, result,
};
use crate::provider::baremetal::work::Work;
use crate::provider_folder::Release;
use crate::steps::digest;
use crate::{Effect, Remote, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct Preflight(pub(super) Arc<Files>);

impl Preflight {
    async fn check(
        &self,
        effect: Effect<'_>,
        facts: &mut MachineFacts,
    ) -> Result<Vec<Finding>, StepError> {
        let before = (effect.now)().as_second();
        let host = host_facts(effect.remote).await?;
        let asked = (before, (effect.now)().as_second());
        facts.product_uuid.clone_from(&host.product_uuid);
        let (release, missing) = check_files(&self.0, effect, &facts.architecture).await;
        let has_package =
            |prefix| release.is_some_and(|release| files::package(release, prefix).is_some());
        let subject = Subject {
            role: effect.machine.spec.role,
            facts,
            host: &host,
            asked,
            has_runtime_package: has_package("containerd"),
            has_cni_package: has_package("cni-plugins"),
        };
        let mut found = findings(effect.cluster, subject);
        found.extend(missing);
        let mut machine = effect.machine.clone();
        machine.status.get_or_insert_default().facts = Some(facts.clone());
        found.extend(duplicates_among_peers(effect, &machine));
        Ok(found)
    }
}

/// Whether all files for a machine are there, with their digests; and the release that they are of.
pub(super) async fn check_files<'a>(
    files: &'a Files,
    effect: Effect<'_>,
    architecture: &str,
) -> (Option<&'a Release>, Vec<Finding>) {
    let finding = |check: &str, message: String| Finding {
        check: check.to_owned(),
        message,
    };
    let release = match files.of_architecture(effect.cluster, architecture) {
        Ok(release) => release,
        Err(message) => return (None, vec![finding("Architecture", message)]),
    };
    let role = effect.machine.spec.role;
    let mut found = missing_files(release, role);
    let mut placed = files::programs(release, &["kubeadm", "kubectl", "kubelet", "crictl"]);
    placed.extend(files::package(release, "containerd"));
    placed.extend(files::package(release, "cni-plugins"));
    placed.extend(files::images(release, role));
    for file in placed {
        let read = files.tree(&[file]).await;
        found.extend(
            read.err()
                .map(|error| finding("Provider", error.to_string())),
        );
    }
    (Some(release), not_ignored(effect.cluster, found))
}

/// What a machine tells about itself.
pub(super) async fn host_facts(remote: &dyn Remote) -> Result<HostFacts, StepError> {
    let script = include_str!("../scripts/host_facts.sh");
    let answer = Work::new("gather facts", script).query(remote).await?;
    host_facts::parse(&answer)
        .ok_or_else(|| StepError::Provider(format!("gather facts: unexpected answer {answer:?}")))
}

impl Step for Preflight {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let address = input.machine?.spec.access.address();
        let ignored = input.cluster.spec.ignore_preflight_errors.join(",");
        Some(StepPlan {
            digest: digest(&[&address, &ignored]),
            text: "check that the machine can be a node".to_owned(),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let mut facts = match effect.remote.facts().await {
                Ok(facts) => facts,
                Err(error) => return (Report::default(), Err(error.into())),
            };
            let found = self.check(effect, &mut facts).await;
            let report = Report {
                facts: Some(facts),
                ..Report::default()
            };
            (report, found.and_then(|found| result(&found)))
        }
        .boxed()
    }
}
