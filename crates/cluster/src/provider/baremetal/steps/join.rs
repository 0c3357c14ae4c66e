//! `EnsureJoinPhaseKubeletStart` joins workers, `EnsureJoinPhaseControlPlaneJoinETCD` control planes, one at a time.
//!
//! What is needed to join is asked of the control plane over SSH: a token, the CA, and the key of the certificates that
//! control planes share.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::MachineRole;
use serde_json::json;

use super::{control_plane_machine, role};
use crate::changes::Change;
use crate::provider::baremetal::kubeadm_config::{self, CRI_SOCKET, Ticket};
use crate::provider::baremetal::network::endpoint;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

/// Where the machine has the CA while it joins.
const DISCOVERY: &str = "/var/lib/outrigger/node/discovery.conf";

/// Joins machines of one role.
pub(super) struct Join(pub(super) MachineRole);

impl Join {
    fn work(&self, input: &StepInput<'_>) -> Option<Work> {
        let machine = input.machine.filter(|it| it.spec.role == self.0)?;
        let anybody = Ticket {
            token: String::new(),
            certificate_key: None,
        };
        let config = kubeadm_config::join(input.cluster, machine, DISCOVERY, &anybody);
        let work = Work::new("kubeadm join", include_str!("../scripts/join.sh"))
            .with("SOCKET", CRI_SOCKET)
            .with("INPUT", config)
            .with("ENDPOINT", endpoint(input.cluster));
        Some(work)
    }

    async fn join(&self, effect: Effect<'_>) -> Result<(), StepError> {
        let Some(work) = self.work(&effect.input()) else {
            return Ok(());
        };
        let (ticket, ca) = ticket(effect).await?;
        let config = kubeadm_config::join(effect.cluster, effect.machine, DISCOVERY, &ticket);
        let secrets = [
            ("CONFIG", config),
            ("DISCOVERY", discovery(&endpoint(effect.cluster), &ca)),
        ];
        work.attempt(effect, &secrets).await
    }
}

/// Asks the control plane for what a machine needs to join: also the CA, in base64.
async fn ticket(effect: Effect<'_>) -> Result<(Ticket, String), StepError> {
    let (machine, control_plane) = control_plane_machine(effect).await?;
    // kubeadm connects to the API server of the machine that the configuration is for.
    let upload = kubeadm_config::init(effect.cluster, &machine);
    let answer = Work::new("create a token", include_str!("../scripts/ticket.sh"))
        .with("ROLE", role(effect.machine))
        .with("CONFIG", upload)
        .query(control_plane.as_ref())
        .await?;
    let lines: Vec<&str> = answer.lines().collect();
    let [token, key, ca] = lines[..] else {
        let message = "create a token: the control plane gave an unexpected answer";
        return Err(StepError::Provider(message.to_owned()));
    };
    let ticket = Ticket {
        token: token.to_owned(),
        certificate_key: Some(key.to_owned()).filter(|key| key != "-"),
    };
    Ok((ticket, ca.to_owned()))
}

/// A kubeconfig without credentials and contexts, as the ConfigMap `cluster-info` has it.
fn discovery(endpoint: &str, ca: &str) -> String {
    let cluster =
        json!({"server": format!("https://{endpoint}"), "certificate-authority-data": ca});
    let config = json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "", "cluster": cluster}],
    });
    config.to_string()
}

impl Step for Join {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        self.work(input).map(|work| work.plan())
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let work = self.work(input);
        let command = work.map(|work| work.text);
        command
            .map(|command| Change::Run { command })
            .into_iter()
            .collect()
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), self.join(effect).await) }.boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
