//! The steps of the installer, which expansion packages and configurations may skip.
//!
//! Their ids are the types of the conditions of an Installation. Where TKEStack has the step, its name is an older name of
//! ours.

use outrigger_apimachinery::nearest::nearest;

/// A step of the installer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallerStep {
    pub id: &'static str,
    /// The names of TKEStack's installer.
    pub aliases: &'static [&'static str],
    /// Whether later steps work without it.
    pub is_skippable: bool,
    /// What it does, for plans and the reference.
    pub what: &'static str,
}

const fn step(
    id: &'static str,
    aliases: &'static [&'static str],
    what: &'static str,
) -> InstallerStep {
    InstallerStep {
        id,
        aliases,
        is_skippable: true,
        what,
    }
}

const fn required(
    id: &'static str,
    aliases: &'static [&'static str],
    what: &'static str,
) -> InstallerStep {
    InstallerStep {
        is_skippable: false,
        ..step(id, aliases, what)
    }
}

/// All steps of the installer, in their order.
pub const INSTALLER_STEPS: &[InstallerStep] = &[
    step(
        "LoadExpansionOperatorImage",
        &["Load Expansion Operator Image"],
        "makes the operator of the package available",
    ),
    step(
        "PatchHookFiles",
        &["Patch Hook Files"],
        "renders and writes hooks, files and files of the provider",
    ),
    step(
        "StartExpansionOperator",
        &["Start Expansion Operator"],
        "starts the operator of delegated steps",
    ),
    step(
        "ExecutePreInstallHook",
        &["Execute pre install hook"],
        "runs the hook pre-install on this machine",
    ),
    step(
        "SetupLocalRegistry",
        &["Setup local registry"],
        "starts the registry of images and charts",
    ),
    step(
        "LoadImages",
        &["Load images"],
        "streams the images that are missing into the registry",
    ),
    step("TagImages", &["Tag images"], "gives the images their names"),
    step(
        "PushImages",
        &["Push images", "Push base components images"],
        "pushes the images to the registry of the site",
    ),
    step(
        "UploadCharts",
        &["Import charts", "Import Expansion Charts"],
        "uploads the charts to the registry",
    ),
    required(
        "CreateGlobalCluster",
        &["Create global cluster"],
        "creates the cluster, and waits until it runs",
    ),
    step(
        "WriteKubeconfig",
        &["Write kubeconfig"],
        "writes the kubeconfig to the share folder",
    ),
    step(
        "ExecutePostClusterReadyHook",
        &["Execute post cluster ready hook"],
        "runs the hook post-cluster-ready on this machine",
    ),
    step(
        "InstallPlugins",
        &["Install Applications"],
        "installs the plugins of the package, and waits until they are Ready",
    ),
    step(
        "ExecutePostInstallHook",
        &["Execute post install hook"],
        "runs the hook post-install on this machine",
    ),
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
