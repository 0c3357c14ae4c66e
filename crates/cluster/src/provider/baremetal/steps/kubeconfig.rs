//! `EnsureKubeconfig` and `EnsureRenewKubeconfig`: make the kubeconfig of the administrator, which the controller keeps in a
//! Secret.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::RedactedBytes;

use super::is_first;
use crate::provider::baremetal::kubeadm_config;
use crate::provider::baremetal::network::endpoint;
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

/// The machine of which it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kubeconfig {
    /// The one that initializes the cluster.
    First,
    /// Any of the control plane.
    Any,
}

impl Kubeconfig {
    async fn read(effect: Effect<'_>) -> Result<RedactedBytes, StepError> {
        let config = kubeadm_config::init(effect.cluster, effect.machine);
        let work = Work::new(
            "make the kubeconfig of the administrator",
            include_str!("../scripts/kubeconfig.sh"),
        );
        // Not an attempt, whose output would stay on the machine.
        let text = work.with("CONFIG", config).query(effect.remote).await?;
        if !text.contains("client-key-data:") {
            let message = "/etc/kubernetes/admin.conf has no credentials";
            return Err(StepError::Provider(message.to_owned()));
        }
        Ok(RedactedBytes::new(text))
    }
}

impl Step for Kubeconfig {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let machine = input.machine?;
        if *self == Self::First && !is_first(input) {
            return None;
        }
        Some(StepPlan {
            digest: digest(&[&kubeadm_config::init(input.cluster, machine)]),
            text: "keep the kubeconfig of the administrator".to_owned(),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            match Self::read(effect).await {
                Ok(kubeconfig) => {
                    let report = Report {
                        kubeconfig: Some(kubeconfig),
                        endpoint: Some(endpoint(effect.cluster)),
                        ..Report::default()
                    };
                    (report, Ok(()))
                }
                Err(error) => (Report::default(), Err(error)),
            }
        }
        .boxed()
    }
}
