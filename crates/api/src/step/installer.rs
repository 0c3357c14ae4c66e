//! The steps of the installer, which expansion packages and configurations may skip.
//!
//! The installer does not exist yet: the names are checked, so that a package which is written today names steps that
//! will exist. Where TKEStack has the step, its name is an older name of ours.

use outrigger_apimachinery::nearest::nearest;

/// A step of the installer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallerStep {
    pub id: &'static str,
    /// The names of TKEStack's installer.
    pub aliases: &'static [&'static str],
    /// Whether later steps work without it.
    pub is_skippable: bool,
}

const fn step(id: &'static str, aliases: &'static [&'static str]) -> InstallerStep {
    InstallerStep {
        id,
        aliases,
        is_skippable: true,
    }
}

const fn required(id: &'static str, aliases: &'static [&'static str]) -> InstallerStep {
    InstallerStep {
        id,
        aliases,
        is_skippable: false,
    }
}

/// All steps of the installer, in their order.
pub const INSTALLER_STEPS: &[InstallerStep] = &[
    step(
        "LoadExpansionOperatorImage",
        &["Load Expansion Operator Image"],
    ),
    step("PatchHookFiles", &["Patch Hook Files"]),
    step("StartExpansionOperator", &["Start Expansion Operator"]),
    step("ExecutePreInstallHook", &["Execute pre install hook"]),
    step("SetupLocalRegistry", &["Setup local registry"]),
    step("LoadImages", &["Load images"]),
    step("TagImages", &["Tag images"]),
    step(
        "PushImages",
        &["Push images", "Push base components images"],
    ),
    step(
        "UploadCharts",
        &["Import charts", "Import Expansion Charts"],
    ),
    required("CreateGlobalCluster", &["Create global cluster"]),
    step("WriteKubeconfig", &["Write kubeconfig"]),
    step(
        "ExecutePostClusterReadyHook",
        &["Execute post cluster ready hook"],
    ),
    step("InstallPlugins", &["Install Applications"]),
    step("ExecutePostInstallHook", &["Execute post install hook"]),
];

/// The step with this id or older name.
pub fn find(name: &str) -> Option<&'static InstallerStep> {
    let mut steps = INSTALLER_STEPS.iter();
    steps.find(|step| step.id == name || step.aliases.contains(&name))
}

/// The id or older name that is most similar.
pub fn nearest_name(name: &str) -> Option<&'static str> {
    let steps = INSTALLER_STEPS.iter();
    let names = steps.flat_map(|step| [step.id].into_iter().chain(step.aliases.iter().copied()));
    nearest(name, &names.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::hook::Hook;

    #[test]
    fn a_name_stands_for_one_step() {
        let mut names = BTreeSet::new();
        for step in INSTALLER_STEPS {
            for name in [step.id].iter().chain(step.aliases) {
                assert!(names.insert(*name), "{name}");
                assert_eq!(find(name), Some(step));
            }
        }
        assert_eq!(find("Install etcd"), None);
        assert_eq!(nearest_name("Load image"), Some("Load images"));
    }

    #[test]
    fn each_hook_of_the_installer_is_a_step() {
        for hook in Hook::of_installer() {
            assert!(find(hook.step).is_some(), "{}", hook.name);
        }
    }
}
