//! Tests of operators: an API server in this process, and clusters that wait for the operator.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use outrigger_sdk::harness::Harness;
//! use outrigger_sdk::{Delegation, Operator};
//!
//! let harness = Harness::start().await?;
//! let operator = Operator::new(harness.client(), "my-operator")
//!     .on("EnsureCilium", async |_: Delegation| Err::<(), _>("no network"));
//! let condition = harness.report_of(operator, "EnsureCilium").await?;
//! assert_eq!(condition.message, "no network");
//! # Ok(()) }
//! ```

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_apiserver::server::{Options, Server};
use serde_json::json;

use crate::{Operator, object};

/// How long an operator may take.
const TIMEOUT: Duration = Duration::from_mins(1);
const LONG_AGO: &str = "2026-01-01T00:00:00Z";
const NEVER: &str = "2100-01-01T00:00:00Z";

/// Why a test cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server does not start.
    #[error("failed to start the API server")]
    Start(#[source] outrigger_apiserver::server::OpenError),
    /// A request failed.
    #[error(transparent)]
    Request(#[from] kube::Error),
    /// A watch failed.
    #[error("failed to watch")]
    Watch(#[from] kube::runtime::wait::Error),
    /// The operator cannot run.
    #[error(transparent)]
    Operator(#[from] crate::Error),
    /// The operator did not report in time.
    #[error("the operator did not report {0} within {TIMEOUT:?}")]
    TimedOut(String),
}

/// An API server with the kinds of Outrigger, without its controller.
#[derive(Debug)]
pub struct Harness {
    server: Server,
}

impl Harness {
    /// Starts an API server that keeps everything in memory.
    pub async fn start() -> Result<Self, Error> {
        let server = Server::open(Options::in_memory()).await;
        let harness = Self {
            server: server.map_err(Error::Start)?,
        };
        let api: Api<CustomResourceDefinition> = Api::all(harness.client());
        for definition in outrigger_api::definitions() {
            let name = definition.name_any();
            api.create(&PostParams::default(), &definition).await?;
            await_condition(api.clone(), &name, conditions::is_crd_established()).await?;
        }
        Ok(harness)
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    /// Creates a cluster that waits for an operator, as the controller leaves it.
    pub async fn delegate(&self, cluster: &str, step: &str, owner: &str) -> Result<Cluster, Error> {
        let api: Api<Cluster> = Api::all(self.client());
        let object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": cluster},
            "spec": {"type": "Imported", "features": {
                "delegateConditions": [step], "delegation": {"owner": owner},
            }},
        });
        let applied = PatchParams::apply("harness").force();
        api.patch(cluster, &applied, &Patch::Apply(&object)).await?;
        let status = json!({"status": {
            "phase": "Initializing",
            "flow": {"name": "Create", "run": "1-Create", "step": step, "tasks": [{
                "step": step, "state": "Delegated", "since": LONG_AGO, "owner": owner, "deadline": NEVER,
            }]},
            "conditions": [{
                "type": step, "status": "Unknown", "reason": "Delegated", "lastTransitionTime": LONG_AGO,
                "message": format!("waiting for {owner} until {NEVER}"),
            }],
        }});
        let status = Patch::Merge(&status);
        Ok(api
            .patch_status(cluster, &PatchParams::default(), &status)
            .await?)
    }

    /// Waits until an operator reports about a step of a cluster, and returns the condition.
    pub async fn reported(&self, cluster: &str, step: &str) -> Result<Condition, Error> {
        let api: Api<Cluster> = Api::all(self.client());
        let is_reported = |cluster: Option<&Cluster>| {
            cluster
                .and_then(|cluster| condition(cluster, step))
                .is_some()
        };
        let waiting = await_condition(api, cluster, is_reported);
        let waited = tokio::time::timeout(TIMEOUT, waiting).await;
        let found = waited.map_err(|_| Error::TimedOut(step.to_owned()))??;
        let found = found.and_then(|cluster| condition(&cluster, step));
        found.ok_or_else(|| Error::TimedOut(step.to_owned()))
    }

    /// Runs an operator until it has reported about a step of a new cluster. Returns the condition.
    pub async fn report_of(&self, operator: Operator, step: &str) -> Result<Condition, Error> {
        let cluster = "harness";
        self.delegate(cluster, step, operator.name()).await?;
        tokio::select! {
            ended = operator.run(std::future::pending()) => {
                ended?;
                Err(Error::TimedOut(step.to_owned()))
            }
            reported = self.reported(cluster, step) => reported,
        }
    }
}

/// The condition that an operator wrote.
fn condition(cluster: &Cluster, step: &str) -> Option<Condition> {
    let mut conditions = object::Object::conditions(cluster).iter();
    let condition = conditions.find(|condition| condition.kind == step)?;
    (condition.status != ConditionStatus::Unknown).then(|| condition.clone())
}
