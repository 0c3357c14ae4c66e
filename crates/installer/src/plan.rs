//! Plans an installation: what each step does and what its input is. Pure.

use std::collections::{BTreeMap, BTreeSet};

use outrigger_api::hook::Hook;
use outrigger_api::plugin::Plugin;
use outrigger_api::step::installer::INSTALLER_STEPS;
use outrigger_flow::{Record, State, Target, Task};
use outrigger_oci::Digest;
use serde::Serialize;

use crate::contents::{Contents, Origin, PackageContents};

/// What a step would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPlan {
    /// Identifies the input: the step is repeated when it changes.
    pub digest: String,
    /// In words.
    pub text: String,
}

/// What becomes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PlannedState {
    Run,
    /// Its input has not changed since it was done.
    Done,
    Skip,
}

/// A step of the plan. Steps that have nothing to do are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedStep {
    pub step: &'static str,
    pub state: PlannedState,
    pub text: String,
}

/// What a step would do. `None` if it has nothing to do.
pub fn step_plan(step: &str, contents: &Contents) -> Option<StepPlan> {
    let package = contents.package.as_ref();
    let cluster = contents.cluster.as_ref();
    match step {
        "LoadExpansionOperatorImage" => {
            let (name, digest, _) = contents.operator()?;
            let text = format!("make operator {name} available");
            Some(plan(&[name, &digest.to_string()], text))
        }
        "StartExpansionOperator" => start_operator(contents),
        "PatchHookFiles" => patch_hook_files(contents),
        "SetupLocalRegistry" => registry(package?),
        "LoadImages" => load_images(package?),
        "TagImages" => tag_images(package?),
        "PushImages" => push_images(package?, contents.site_registry.as_deref()?),
        "UploadCharts" => upload_charts(package?),
        "CreateGlobalCluster" => {
            let cluster = cluster?;
            let machines = cluster.cluster.spec.machines.len() + cluster.workers.len();
            let machines = count(machines, "machine");
            let text = format!("create cluster {} on {machines}", cluster.name());
            Some(plan(&[&cluster.digest], text))
        }
        "WriteKubeconfig" => {
            let text = "write share/admin.kubeconfig".to_owned();
            Some(plan(&[cluster?.name()], text))
        }
        "InstallPlugins" => install_plugins(package?),
        step => hook_plan(step, contents),
    }
}

fn start_operator(contents: &Contents) -> Option<StepPlan> {
    let (name, digest, steps) = contents.operator()?;
    let text = match steps.as_slice() {
        [] => format!("start operator {name}, to which nothing is delegated"),
        steps => format!("start operator {name} for {}", steps.join(", ")),
    };
    Some(plan(&[name, &digest.to_string(), &steps.join(",")], text))
}

fn registry(package: &PackageContents) -> Option<StepPlan> {
    let text = match (package.images.is_empty(), package.charts.is_empty()) {
        (true, true) => return None,
        (false, false) => "start the registry for images and charts",
        (false, true) => "start the registry for images",
        (true, false) => "start the registry for charts",
    };
    Some(plan(&["registry"], text.to_owned()))
}

fn load_images(package: &PackageContents) -> Option<StepPlan> {
    let images = package.images.iter();
    let mut digests: Vec<String> = images.map(|image| image.digest.to_string()).collect();
    digests.sort();
    digests.dedup();
    let text = format!("load {} into the registry", count(digests.len(), "image"));
    (!digests.is_empty()).then(|| plan(&digests, text))
}

fn tag_images(package: &PackageContents) -> Option<StepPlan> {
    let images = package.images.iter();
    let names = images.map(|image| format!("{}@{}", image.name, image.digest));
    let names: Vec<String> = names.collect();
    let text = format!("name {}", count(names.len(), "image"));
    (!names.is_empty()).then(|| plan(&names, text))
}

fn push_images(package: &PackageContents, registry: &str) -> Option<StepPlan> {
    let images = package.images.iter();
    let names = images.map(|image| format!("{}@{}", image.name, image.digest));
    let names: Vec<String> = names.chain([registry.to_owned()]).collect();
    let text = format!(
        "push {} to {registry}",
        count(package.images.len(), "image")
    );
    (!package.images.is_empty()).then(|| plan(&names, text))
}

fn upload_charts(package: &PackageContents) -> Option<StepPlan> {
    let charts = package.charts.iter();
    let names = charts.map(|chart| format!("{} {}", chart.name, chart.version));
    let names: Vec<String> = names.collect();
    let charts = names.iter().zip(&package.charts);
    let inputs = charts.map(|(name, chart)| format!("{name} {}", Digest::of(&chart.bytes)));
    let inputs: Vec<String> = inputs.collect();
    (!names.is_empty()).then(|| plan(&inputs, format!("upload {}", names.join(", "))))
}

fn install_plugins(package: &PackageContents) -> Option<StepPlan> {
    let plugins = package.plugins.iter();
    let inputs = plugins.map(|plugin| {
        let input = (&plugin.metadata, &plugin.spec);
        serde_json::to_string(&input).unwrap_or_default()
    });
    let inputs: Vec<String> = inputs.collect();
    let names: Vec<&str> = package.plugins.iter().map(Plugin::name).collect();
    (!inputs.is_empty()).then(|| plan(&inputs, format!("install {}", names.join(", "))))
}

/// Whether a step is done with its current input.
pub(crate) fn is_done(step: &'static str, contents: &Contents, record: &Record) -> bool {
    let recorded = record.tasks.get(step);
    let digest = step_plan(step, contents).map(|plan| plan.digest);
    recorded.is_some_and(|task| task.state == State::Done && Some(&task.digest) == digest.as_ref())
}

fn patch_hook_files(contents: &Contents) -> Option<StepPlan> {
    let mut inputs = Vec::new();
    let mut parts = Vec::new();
    for (name, hook) in &contents.hooks {
        inputs.push(format!("hook {name} {}", hook.digest));
    }
    parts.extend(part(contents.hooks.len(), "hook"));
    if let Some(package) = &contents.package {
        for file in &package.files {
            inputs.push(format!(
                "file {} {:o} {}",
                file.source, file.mode, file.digest
            ));
        }
        parts.extend(part(package.files.len(), "file"));
        for (path, digest) in &package.provider {
            inputs.push(format!("provider {path} {digest}"));
        }
        parts.extend(
            part(package.provider.len(), "file of the provider")
                .map(|text| text.replacen("file of the providers", "files of the provider", 1)),
        );
    }
    let text = format!("write {}", parts.join(", "));
    (!inputs.is_empty()).then(|| plan(&inputs, text))
}

fn hook_plan(step: &str, contents: &Contents) -> Option<StepPlan> {
    let hook = Hook::of_installer().find(|hook| hook.step == step)?;
    let script = contents.hooks.get(hook.name)?;
    let origin = match (script.origin, &contents.package) {
        (Origin::PackageInsteadOfSite, Some(package)) => {
            format!(" of package {}, in place of that of the site", package.name)
        }
        (Origin::Package, Some(package)) => format!(" of package {}", package.name),
        _ => String::new(),
    };
    let text = format!("run {}{origin}", hook.name);
    Some(plan(&[script.digest.to_string()], text))
}

fn plan(inputs: &[impl AsRef<str>], text: String) -> StepPlan {
    let mut bytes = Vec::new();
    for input in inputs {
        let input = input.as_ref();
        bytes.extend_from_slice(format!("{} {input}\n", input.len()).as_bytes());
    }
    StepPlan {
        digest: Digest::of(&bytes).hex()[..16].to_owned(),
        text,
    }
}

fn part(number: usize, noun: &str) -> Option<String> {
    (number > 0).then(|| count(number, noun))
}

fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// The task of a step. All steps are of the whole site.
pub(crate) fn task(step: &'static str) -> Task {
    let target = Target::Cluster;
    Task { step, target }
}

/// The inputs of all steps that have something to do, and the tasks of the others.
pub(crate) fn inputs(contents: &Contents) -> (BTreeMap<Task, String>, BTreeSet<Task>) {
    let (mut digests, mut omitted) = (BTreeMap::new(), BTreeSet::new());
    for step in INSTALLER_STEPS {
        match step_plan(step.id, contents) {
            Some(plan) => {
                digests.insert(task(step.id), plan.digest);
            }
            None => {
                omitted.insert(task(step.id));
            }
        }
    }
    (digests, omitted)
}

/// The steps of an installation, with what becomes of them after what is recorded.
pub fn planned(
    contents: &Contents,
    record: &Record,
    skip: &BTreeSet<&'static str>,
) -> Vec<PlannedStep> {
    let steps = INSTALLER_STEPS.iter().filter_map(|step| {
        let plan = step_plan(step.id, contents)?;
        let recorded = record.tasks.get(step.id);
        let is_done =
            recorded.is_some_and(|task| task.state == State::Done && task.digest == plan.digest);
        let state = if skip.contains(step.id) {
            PlannedState::Skip
        } else if is_done {
            PlannedState::Done
        } else {
            PlannedState::Run
        };
        Some(PlannedStep {
            step: step.id,
            state,
            text: plan.text,
        })
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use PlannedState::{Done, Run, Skip};

    use super::*;
    use crate::contents::{HookScript, SiteCluster};

    fn hook(script: &str) -> HookScript {
        HookScript {
            script: script.as_bytes().to_vec(),
            digest: Digest::of(script.as_bytes()),
            origin: Origin::Site,
        }
    }

    fn cluster(digest: &str) -> SiteCluster {
        let spec = outrigger_api::cluster::ClusterSpec::default();
        SiteCluster {
            cluster: outrigger_api::cluster::Cluster::new("site", spec),
            workers: Vec::new(),
            digest: digest.to_owned(),
        }
    }

    fn ids(contents: &Contents) -> Vec<&'static str> {
        let steps = planned(contents, &Record::new("1"), &BTreeSet::new());
        steps.into_iter().map(|step| step.step).collect()
    }

    #[test]
    fn without_a_package_only_the_cluster_is_created() {
        let contents = Contents {
            cluster: Some(cluster("a")),
            ..Contents::default()
        };
        assert_eq!(ids(&contents), ["CreateGlobalCluster", "WriteKubeconfig"]);
        assert_eq!(ids(&Contents::default()), [""; 0]);
    }

    #[test]
    fn hooks_run_without_a_package_and_in_their_places() {
        let mut contents = Contents {
            cluster: Some(cluster("a")),
            ..Contents::default()
        };
        contents.hooks.insert("pre-install", hook("a"));
        contents.hooks.insert("post-install", hook("b"));
        let expected = [
            "PatchHookFiles",
            "ExecutePreInstallHook",
            "CreateGlobalCluster",
            "WriteKubeconfig",
            "ExecutePostInstallHook",
        ];
        assert_eq!(ids(&contents), expected);
    }

    #[test]
    fn only_steps_whose_input_changed_run_again() {
        let mut contents = Contents {
            cluster: Some(cluster("a")),
            ..Contents::default()
        };
        contents.hooks.insert("pre-install", hook("a"));
        let (digests, _) = inputs(&contents);
        let mut record = Record::new("1");
        for (task, digest) in digests {
            let done = outrigger_flow::TaskRecord {
                digest,
                state: State::Done,
                ..outrigger_flow::TaskRecord::default()
            };
            record.tasks.insert(task.step, done);
        }
        let skip = BTreeSet::from(["WriteKubeconfig"]);
        let state = |contents: &Contents| -> Vec<PlannedState> {
            let steps = planned(contents, &record, &skip);
            steps.into_iter().map(|step| step.state).collect()
        };
        assert_eq!(state(&contents), [Done, Done, Done, Skip]);
        contents.hooks.insert("pre-install", hook("other"));
        assert_eq!(state(&contents), [Run, Run, Done, Skip]);
        contents.cluster = Some(cluster("b"));
        assert_eq!(state(&contents), [Run, Run, Run, Skip]);
    }
}
