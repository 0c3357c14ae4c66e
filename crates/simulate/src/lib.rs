//! Workloads that seem to run: a controller that makes Deployments, Jobs, Pods and the like become ready, or fail when
//! asked to, though nothing runs anywhere. For demos and tests; it says everywhere that it simulates.
//!
//! Each kind has a pure state machine: from what is seen to what to do, now or after a while. One runner watches,
//! keeps what it saw ([`world`]), asks the machines and does what they say through the API.

mod affected;
mod bystanders;
mod claim;
mod conditions;
mod containers;
mod cron_job;
mod daemon_set;
mod deployment;
mod job;
mod machine;
mod mode;
mod news;
mod node;
mod object;
mod perform;
mod pod;
mod replica_set;
mod revision;
mod rollout;
mod runner;
mod schedule;
mod service;
mod stateful_set;
mod step;
mod template;
mod world;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

pub use mode::{SIMULATE, SIMULATED};

use outrigger_apiserver::local::Local;
use outrigger_apiserver::server::{Server, Simulation};

/// How the simulation goes.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long a step takes that takes time: a pod to start, to end or to go, a claim to be bound.
    pub delay: Duration,
    /// Tells the time of day.
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
    let local = Local::new(server.service(), "simulation");
    server.spawn(run(local, options, server.closed()));
}

/// Simulates until `closed` becomes true.
pub async fn run(local: Local, options: Options, mut closed: watch::Receiver<bool>) {
    tokio::select! {
        () = runner::run(local.named("simulation"), options) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
}

#[derive(Debug)]
struct SimulatedNodes;

impl Simulation for SimulatedNodes {
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
