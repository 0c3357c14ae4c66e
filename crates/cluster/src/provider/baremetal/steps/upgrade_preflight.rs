//! `EnsureUpgradePreflight`: reports everything that keeps a machine from being upgraded. Changes nothing.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::control_plane;
use super::preflight::{check_files, host_facts};
use crate::lifecycle::desired_version;
use crate::provider::baremetal::files::Files;
use crate::provider::baremetal::preflight::{Finding, NodeState, result, upgrade_findings};
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct UpgradePreflight(pub(super) Arc<Files>);

impl UpgradePreflight {
    async fn check(&self, effect: Effect<'_>) -> Result<Vec<Finding>, StepError> {
        let host = host_facts(effect.remote).await?;
        let control_plane = control_plane(effect).await?;
        let script = include_str!("../scripts/node_state.sh");
        let node = Work::new("ask for the state of the node", script)
            .with("ADDRESS", &effect.machine.spec.access.ip)
            .query(control_plane.as_ref())
            .await;
        let node = node.map(|state| NodeState::parse(&state));
        let node = node.map_err(|error| error.to_string());
        let mut found = upgrade_findings(effect.cluster, &host, &node);
        let facts = effect.remote.facts().await?;
        let (_, files) = check_files(&self.0, effect, &facts.architecture).await;
        found.extend(files);
        Ok(found)
    }
}

impl Step for UpgradePreflight {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let address = input.machine?.spec.access.address();
        let version = desired_version(input.cluster);
        let ignored = input.cluster.spec.ignore_preflight_errors.join(",");
        Some(StepPlan {
            digest: digest(&[&address, version, &ignored]),
            text: format!("check that the machine can be upgraded to {version}"),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let found = self.check(effect).await;
            (Report::default(), found.and_then(|found| result(&found)))
        }
        .boxed()
    }
}
