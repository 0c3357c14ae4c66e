//! `EnsurePreflight`: gathers facts, and checks that the machine can be a node.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{Effect, Report, Step, StepError, StepInput, StepPlan, digest};

/// Architectures with Kubernetes binaries.
const ARCHITECTURES: &[&str] = &["amd64", "arm64", "ppc64le", "s390x"];

pub(crate) struct Preflight;

impl Step for Preflight {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let address = input.machine?.spec.access.address();
        Some(StepPlan {
            digest: digest(&[&address]),
            text: "check the operating system and the architecture".to_owned(),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let facts = match effect.remote.facts().await {
                Ok(facts) => facts,
                Err(error) => return (Report::default(), Err(error.into())),
            };
            let is_supported = ARCHITECTURES.contains(&facts.architecture.as_str());
            let architecture = facts.architecture.clone();
            let report = Report {
                facts: Some(facts),
                ..Report::default()
            };
            let result = if is_supported {
                Ok(())
            } else {
                Err(StepError::Architecture(architecture))
            };
            (report, result)
        }
        .boxed()
    }
}
