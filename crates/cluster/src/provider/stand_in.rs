//! The stand-in: checks machines, copies files and runs hooks, but installs nothing. Accepts any version of Kubernetes.

use outrigger_api::cluster::Cluster;

use super::Provider;
use crate::Step;
use crate::steps::Preflight;

#[derive(Debug, Clone, Copy)]
pub struct StandIn;

impl Provider for StandIn {
    fn name(&self) -> &'static str {
        "stand-in"
    }

    fn missing(&self, _: &Cluster) -> Vec<String> {
        Vec::new()
    }

    fn step(&self, id: &str) -> Option<&dyn Step> {
        match id {
            "EnsurePreflight" => Some(&Preflight),
            _ => None,
        }
    }
}
