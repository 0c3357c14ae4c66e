//! Simulated workloads: controllers that make Deployments, Jobs, Pods and the like become ready, or fail on request,
//! although no container runs. For demos and tests; everything that is simulated is marked as such.
//!
//! Each kind has a pure `reconcile` function: from the observed objects to the actions to take now and after a delay.
//! One [`controller`] watches all kinds, keeps their objects in a [`cache`], calls `reconcile` and executes the actions
//! through the API.

// Clients choose the operands: overflow must be handled, not panic.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod adoption;
mod autoscaler;
mod behavior;
mod cache;
mod condition;
mod containers;
mod controller;
mod cron_job;
mod daemon_set;
mod deployment;
mod disruption_budget;
mod enqueue;
mod event;
mod execute;
mod job;
mod job_indexes;
mod node;
mod object;
mod persistent_volume_claim;
mod plan;
mod pod;
mod pod_template;
mod reconcile;
mod references;
mod replica_set;
mod requests;
mod revision;
mod rollout;
mod scheduling;
mod service;
mod stateful_set;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch::Receiver;

pub use behavior::{SIMULATE, SIMULATED};

use outrigger_apiserver::loopback::Client;
use outrigger_apiserver::panics;
use outrigger_apiserver::server::{Server, Simulation};

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long a pod takes to start, to finish or to terminate, and a claim to be bound.
    pub delay: Duration,
    /// The wall clock.
    pub now: fn() -> Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(500),
            now: Timestamp::now,
        }
    }
}

/// Simulates the workloads of an embedded server until it closes.
pub fn start(server: &Server, options: Options) {
    server.attach_simulation(Arc::new(SimulatedNodes));
    let client = Client::new(server.service(), "simulation");
    server.spawn(run(client, options, server.closed()));
}

/// Simulates until `closed` becomes true.
pub async fn run(client: Client, options: Options, closed: Receiver<bool>) {
    let client = client.with_manager("simulation");
    panics::supervise("simulation", closed, || {
        controller::run(client.clone(), options)
    })
    .await;
}

#[derive(Debug)]
struct SimulatedNodes;

impl Simulation for SimulatedNodes {
    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        behavior::warnings(new, old)
    }

    fn pod_log(&self, pod: &Value, container: &str) -> Option<String> {
        if object::text(&pod["spec"]["nodeName"]) != node::NAME {
            return None;
        }
        let name = object::name(pod);
        let namespace = object::namespace(pod);
        let container = match container {
            "" => object::text(&pod["spec"]["containers"][0]["name"]),
            name => name,
        };
        Some(format!(
            "container {container} of pod {namespace}/{name} is simulated: nothing runs, so there is no log\n"
        ))
    }
}

#[cfg(test)]
mod tests;
