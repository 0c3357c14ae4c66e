//! The hooks: scripts of the admin that run at fixed points of a cluster's life.
//!
//! This is the only list of hooks. The steps that run them, the rules of the schema, the reference in `docs/` and the
//! tests are all derived from it.

use outrigger_apimachinery::nearest::nearest;

use crate::step::FlowName;

/// Where a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookScope {
    /// Where the installer runs.
    Installer,
    /// On the first control-plane machine, with the labels and annotations of the cluster as arguments.
    Cluster,
    /// On every machine.
    Node,
}

/// A point of a cluster's life at which a script can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// Key in `spec.features.hooks`, or name of the file in the hooks folder of the installer.
    pub name: &'static str,
    pub scope: HookScope,
    /// Flows that run it. Bootstrap hooks belong to the installer, which has none of the flows of a cluster.
    pub flows: &'static [FlowName],
    /// Id of the step that runs it, and type of the condition that reports it.
    pub step: &'static str,
    /// When it runs, for the reference.
    pub when: &'static str,
}

/// All hooks: three of the installer, ten of clusters and machines.
pub const HOOKS: [Hook; 13] = [
    Hook {
        name: "pre-install",
        scope: HookScope::Installer,
        flows: &[],
        step: "ExecutePreInstallHook",
        when: "before the installer does anything",
    },
    Hook {
        name: "post-cluster-ready",
        scope: HookScope::Installer,
        flows: &[],
        step: "ExecutePostClusterReadyHook",
        when: "when the first cluster is ready",
    },
    Hook {
        name: "post-install",
        scope: HookScope::Installer,
        flows: &[],
        step: "ExecutePostInstallHook",
        when: "after all plugins are installed",
    },
    Hook {
        name: "PreInstall",
        scope: HookScope::Node,
        flows: &[FlowName::Create, FlowName::ScaleUp],
        step: "EnsurePreInstallHook",
        when: "before a machine is installed",
    },
    Hook {
        name: "PostInstall",
        scope: HookScope::Node,
        flows: &[FlowName::Create, FlowName::ScaleUp],
        step: "EnsurePostInstallHook",
        when: "after a machine is installed",
    },
    Hook {
        name: "PreUpgrade",
        scope: HookScope::Node,
        flows: &[FlowName::Upgrade],
        step: "EnsurePreUpgradeHook",
        when: "before a machine is upgraded",
    },
    Hook {
        name: "PostUpgrade",
        scope: HookScope::Node,
        flows: &[FlowName::Upgrade],
        step: "EnsurePostUpgradeHook",
        when: "after a machine is upgraded",
    },
    Hook {
        name: "PreClusterInstall",
        scope: HookScope::Cluster,
        flows: &[FlowName::Create],
        step: "EnsurePreClusterInstallHook",
        when: "before the first machine is installed",
    },
    Hook {
        name: "PostClusterInstall",
        scope: HookScope::Cluster,
        flows: &[FlowName::Create],
        step: "EnsurePostClusterInstallHook",
        when: "after the control plane is installed",
    },
    Hook {
        name: "PreClusterUpgrade",
        scope: HookScope::Cluster,
        flows: &[FlowName::Upgrade],
        step: "EnsurePreClusterUpgradeHook",
        when: "before the first machine is upgraded",
    },
    Hook {
        name: "PostClusterUpgrade",
        scope: HookScope::Cluster,
        flows: &[FlowName::Upgrade],
        step: "EnsurePostClusterUpgradeHook",
        when: "after all machines are upgraded",
    },
    Hook {
        name: "PreClusterDelete",
        scope: HookScope::Cluster,
        flows: &[FlowName::Delete],
        step: "EnsurePreClusterDeleteHook",
        when: "before anything is removed from the machines",
    },
    Hook {
        name: "PostClusterDelete",
        scope: HookScope::Cluster,
        flows: &[FlowName::Delete],
        step: "EnsurePostClusterDeleteHook",
        when: "after the cluster is removed from the machines, before the files of the hooks are",
    },
];

impl Hook {
    /// The hooks that a Cluster may set.
    pub fn of_clusters() -> impl Iterator<Item = &'static Self> {
        HOOKS
            .iter()
            .filter(|hook| hook.scope != HookScope::Installer)
    }

    /// The hooks of the installer.
    pub fn of_installer() -> impl Iterator<Item = &'static Self> {
        HOOKS
            .iter()
            .filter(|hook| hook.scope == HookScope::Installer)
    }

    /// The hook of clusters with this name.
    pub fn of_cluster(name: &str) -> Option<&'static Self> {
        Self::of_clusters().find(|hook| hook.name == name)
    }

    /// The hook that a step runs.
    pub fn of_step(step: &str) -> Option<&'static Self> {
        HOOKS.iter().find(|hook| hook.step == step)
    }

    /// The hook of clusters whose name is most similar.
    pub fn nearest(name: &str) -> Option<&'static str> {
        // TKEStack's documentation has this prefix, its objects do not.
        let name = name.strip_prefix("Hook").unwrap_or(name);
        let names: Vec<&str> = Self::of_clusters().map(|hook| hook.name).collect();
        nearest(name, &names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::steps;

    #[test]
    fn each_hook_is_a_step_of_its_flows_and_of_no_other() {
        for hook in Hook::of_clusters() {
            for flow in FlowName::ALL {
                let is_step = steps(*flow).iter().any(|step| step.id == hook.step);
                let is_listed = hook.flows.contains(flow);
                assert_eq!(is_step, is_listed, "{} in {flow:?}", hook.name);
            }
        }
    }

    #[test]
    fn there_are_ten_hooks_of_clusters_and_three_of_the_installer() {
        assert_eq!(Hook::of_clusters().count(), 10);
        let names: Vec<_> = Hook::of_installer().map(|hook| hook.name).collect();
        assert_eq!(names, ["pre-install", "post-cluster-ready", "post-install"]);
    }

    #[test]
    fn misspelled_hooks_have_suggestions() {
        assert_eq!(Hook::nearest("HookPreInstall"), Some("PreInstall"));
        assert_eq!(
            Hook::nearest("preClusterUpgrade"),
            Some("PreClusterUpgrade")
        );
        assert_eq!(Hook::nearest("Reboot"), None);
    }
}
