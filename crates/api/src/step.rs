//! The steps of all flows. Their ids are part of the API: conditions, skip lists and delegations name them.
//!
//! The list is that of TKEStack's baremetal provider, with the changes that its expansion framework asks for: the
//! container runtime and the kubelet are installed and started by separate steps.

mod flows;
pub mod installer;

use outrigger_apimachinery::nearest::nearest;

use crate::annotation;

pub use flows::steps;

/// The flows of a cluster's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowName {
    Create,
    Upgrade,
    ScaleUp,
    ScaleDown,
    RenewCertificates,
    Restore,
    UpdateRegistries,
    Delete,
}

impl FlowName {
    pub const ALL: &'static [Self] = &[
        Self::Create,
        Self::Upgrade,
        Self::ScaleUp,
        Self::ScaleDown,
        Self::RenewCertificates,
        Self::Restore,
        Self::UpdateRegistries,
        Self::Delete,
    ];

    /// The name in a status.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Upgrade => "Upgrade",
            Self::ScaleUp => "ScaleUp",
            Self::ScaleDown => "ScaleDown",
            Self::RenewCertificates => "RenewCertificates",
            Self::Restore => "Restore",
            Self::UpdateRegistries => "UpdateRegistries",
            Self::Delete => "Delete",
        }
    }

    /// The annotation of a cluster that asks for the flow, with another value each time.
    pub const fn request(self) -> Option<&'static str> {
        match self {
            Self::RenewCertificates => Some(annotation::RENEW_CERTIFICATES),
            Self::Restore => Some(annotation::RESTORE),
            Self::Create
            | Self::Upgrade
            | Self::ScaleUp
            | Self::ScaleDown
            | Self::UpdateRegistries
            | Self::Delete => None,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|flow| flow.as_str() == text)
    }
}

/// How often a step runs in a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepScope {
    /// Once, on the first control-plane machine if it needs a machine.
    Cluster,
    /// On all machines at the same time.
    Machine,
    /// On one machine after the other. Adjacent steps of this scope run together on each machine.
    MachineInTurn,
}

/// The machines on which a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRole {
    All,
    ControlPlane,
    /// Control-plane machines except for the first, which initializes the cluster.
    JoiningControlPlane,
    Worker,
}

/// A step of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowStep {
    pub id: &'static str,
    pub scope: StepScope,
    pub role: StepRole,
}

/// Older names of steps, which lists in specs may still use.
const ALIASES: &[(&str, &[&str])] = &[
    ("EnsureContainerRuntime", &["EnsureDocker"]),
    ("EnsureStartContainerRuntime", &["EnsureStartDocker"]),
];

/// Steps that only Outrigger can do, in addition to those of hooks: they copy and remove the files of the spec.
const NOT_DELEGABLE: &[&str] = &["EnsureCopyFiles", "EnsureRemoveFiles"];

/// The older names of a step.
pub fn aliases(id: &str) -> &'static [&'static str] {
    let mut all = ALIASES.iter();
    all.find(|(step, _)| *step == id)
        .map_or(&[], |(_, aliases)| aliases)
}

/// Whether a step can be delegated to an external operator.
pub fn is_delegable(id: &str) -> bool {
    !NOT_DELEGABLE.contains(&id) && crate::hook::Hook::of_step(id).is_none()
}

/// The id of the step with this id or older name, in any flow.
pub fn find(name: &str) -> Option<&'static str> {
    let mut ids = all();
    ids.find(|id| *id == name || aliases(id).contains(&name))
}

/// The step id that is most similar.
pub fn nearest_id(name: &str) -> Option<&'static str> {
    let ids: Vec<&str> = all().collect();
    nearest(name, &ids)
}

/// The ids of all steps; some repeat.
fn all() -> impl Iterator<Item = &'static str> {
    let flows = FlowName::ALL.iter();
    flows.flat_map(|flow| steps(*flow).iter().map(|step| step.id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_flow_names_a_step_once() {
        for flow in FlowName::ALL {
            let mut ids = BTreeSet::new();
            for step in steps(*flow) {
                assert!(ids.insert(step.id), "{} in {flow:?}", step.id);
            }
        }
    }

    #[test]
    fn older_names_stand_for_one_step() {
        assert_eq!(find("EnsureDocker"), Some("EnsureContainerRuntime"));
        assert_eq!(
            find("EnsureStartDocker"),
            Some("EnsureStartContainerRuntime")
        );
        assert_eq!(find("EnsureDone"), None);
        let ids: BTreeSet<&str> = all().collect();
        for (step, aliases) in ALIASES {
            assert!(ids.contains(step), "{step}");
            assert!(
                aliases.iter().all(|alias| !ids.contains(alias)),
                "{aliases:?}"
            );
        }
    }

    #[test]
    fn every_flow_copies_files_before_its_hooks() {
        for hook in crate::hook::Hook::of_clusters() {
            for flow in hook.flows {
                assert_eq!(steps(*flow)[0].id, "EnsureCopyFiles", "{flow:?}");
            }
        }
    }

    #[test]
    fn files_are_removed_after_the_last_hook() {
        let ids: Vec<&str> = steps(FlowName::Delete).iter().map(|step| step.id).collect();
        assert_eq!(
            ids[ids.len() - 2..],
            ["EnsurePostClusterDeleteHook", "EnsureRemoveFiles"]
        );
    }

    #[test]
    fn files_and_hooks_cannot_be_delegated() {
        assert!(is_delegable("EnsureKubelet"));
        assert!(!is_delegable("EnsureCopyFiles"));
        assert!(!is_delegable("EnsurePreInstallHook"));
    }
}
