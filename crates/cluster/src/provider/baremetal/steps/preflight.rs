//! `EnsurePreflight`: reports everything that keeps a machine from being a node. Changes nothing.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::{MachineFacts, MachineRole};

use crate::provider::baremetal::files::{self, Files};
use crate::provider::baremetal::host_facts::{self, HostFacts};
use crate::provider::baremetal::preflight::{Finding, Subject, findings, result};
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
        let role = effect.machine.spec.role;
        let release = self.0.of_architecture(effect.cluster, &facts.architecture);
        let subject = Subject {
            role,
            facts,
            host: &host,
            asked,
            has_runtime_package: release
                .as_ref()
                .is_ok_and(|release| files::package(release, "containerd").is_some()),
            has_cni_package: release
                .as_ref()
                .is_ok_and(|release| files::package(release, "cni-plugins").is_some()),
        };
        let mut found = findings(effect.cluster, subject);
        let provider = match release {
            Ok(release) => check_files(&self.0, release, role).await.err(),
            Err(message) => {
                found.push(Finding {
                    check: "Architecture".to_owned(),
                    message,
                });
                None
            }
        };
        found.extend(provider.map(|message| Finding {
            check: "Provider".to_owned(),
            message,
        }));
        Ok(found)
    }
}

/// Whether all files for a machine are there, with their digests.
pub(super) async fn check_files(
    files: &Files,
    release: &Release,
    role: MachineRole,
) -> Result<(), String> {
    let mut placed = files::programs(release, &["kubeadm", "kubectl", "kubelet", "crictl"]);
    placed.extend(files::package(release, "containerd"));
    placed.extend(files::package(release, "cni-plugins"));
    placed.extend(files::images(release, role));
    for name in ["kubeadm", "kubectl", "kubelet"] {
        if !placed.iter().any(|it| it.file.name == name) {
            return Err(format!("the provider folder has no program {name}"));
        }
    }
    let tree = files.tree(&placed).await;
    tree.map(drop).map_err(|error| error.to_string())
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
