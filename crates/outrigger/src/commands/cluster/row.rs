//! What lists say about a cluster.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use outrigger_api::cluster::{Cluster, ClusterPhase, ClusterType};
use outrigger_cluster::lifecycle;
use serde::Serialize;

use crate::commands::plugin::origin::Origin;
use crate::printer::Color;

/// A cluster in a list.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterRow {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: ClusterType,
    pub(super) phase: ClusterPhase,
    /// The installed version.
    pub(super) version: Option<String>,
    /// The version of the spec.
    pub(super) target_version: Option<String>,
    /// The object that the cluster mirrors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
    pub(super) step: Option<String>,
    /// How many machines are in which phase.
    pub(super) machines: BTreeMap<String, u32>,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flow: Option<String>,
    pub(super) provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created: Option<String>,
}

impl ClusterRow {
    pub(super) fn machines(&self) -> String {
        let counts = self.machines.iter();
        let counts: Vec<String> = counts.map(|(phase, n)| format!("{n} {phase}")).collect();
        counts.join(", ")
    }

    /// The installed version, and the one that it is on the way to.
    pub(super) fn version(&self) -> String {
        let installed = self.version.as_deref().unwrap_or("-");
        match &self.target_version {
            Some(target) if self.version.as_ref() != Some(target) => {
                format!("{installed} -> {target}")
            }
            _ => installed.to_owned(),
        }
    }

    /// Green is done, red needs help, yellow is on its way.
    pub(super) fn phase_color(&self) -> Color {
        match self.phase {
            ClusterPhase::Running => Color::Green,
            ClusterPhase::Failed => Color::Red,
            _ => Color::Yellow,
        }
    }
}

pub(super) fn cluster_row(cluster: &Cluster) -> ClusterRow {
    let status = cluster.status.clone().unwrap_or_default();
    let target = lifecycle::desired_version(cluster).to_owned();
    ClusterRow {
        name: cluster.name_any(),
        kind: cluster.spec.kind,
        phase: status.phase,
        version: status.version,
        target_version: Some(target).filter(|version| !version.is_empty()),
        origin: Origin::of(cluster).map(|origin| origin.to_string()),
        flow: status.flow.as_ref().map(|flow| flow.name.clone()),
        step: status.flow.and_then(|flow| flow.step),
        machines: status.machines,
        message: status.message,
        provider: outrigger_cluster::provider_name(cluster).to_owned(),
        created: cluster.creation_timestamp().map(|it| it.0.to_string()),
    }
}
