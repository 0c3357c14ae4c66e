//! Runs the hooks of the installer on its machine. Each runs once for an attempt, whatever happens to the installer.

use std::collections::BTreeMap;

use outrigger_api::flow_status::HookStatus;
use outrigger_api::hook::Hook;
use outrigger_cluster::{Command, Outcome, Output, hook_result, tail};
use outrigger_flow::{Attempt, Stopped};
use outrigger_oci::Digest;
use serde_json::{Map, Value, json};

use super::Effects;
use crate::driver::HOOK_TIMEOUT;
use crate::reports::Report;

/// How much of the end of an output is kept in the status.
const MAX_OUTPUT: usize = 4096;

pub(super) async fn run(
    effects: &Effects,
    hook: &'static Hook,
    attempt: &Attempt,
) -> (Report, Result<(), String>) {
    let command = match command(effects, hook, attempt) {
        Ok(command) => command,
        Err(message) => return (Report::default(), Err(message)),
    };
    let (task, id) = (task(effects, hook), attempt.id());
    let machine = effects.machine();
    match machine.run(&task, &id, &command).await {
        Ok(outcome) => {
            let result = result(hook, &outcome);
            (report(effects, hook, attempt, &outcome), result)
        }
        Err(error) => (Report::default(), Err(error.message)),
    }
}

/// Ends a hook that runs.
pub(super) async fn stop(effects: &Effects, attempt: &Attempt) -> Stopped {
    let Some(hook) = Hook::of_installer().find(|hook| hook.step == attempt.task.step) else {
        return Stopped::Canceled;
    };
    let machine = effects.machine();
    match machine.cancel(&task(effects, hook), &attempt.id()).await {
        Ok(Outcome::Canceled) => Stopped::Canceled,
        Ok(outcome) => Stopped::Ended(result(hook, &outcome)),
        Err(error) => Stopped::Unknown(error.message),
    }
}

fn task(effects: &Effects, hook: &Hook) -> String {
    format!("{}/{}", effects.run, hook.step)
}

/// The command of a hook. The script is the one that the plan is made of.
fn command(effects: &Effects, hook: &Hook, attempt: &Attempt) -> Result<Command, String> {
    let contents = &effects.contents;
    let script = contents.hooks.get(hook.name);
    let script = script.ok_or_else(|| format!("there is no hook {}", hook.name))?;
    let path = effects.folders.hooks().join(hook.name);
    let written = fs_err::read(&path).map_err(|error| {
        format!(
            "hook {} is not written, PatchHookFiles does that: {error}",
            hook.name
        )
    })?;
    if Digest::of(&written) != script.digest {
        return Err(format!(
            "{} was changed since PatchHookFiles wrote it",
            path.display()
        ));
    }
    let environment = environment(effects, hook, attempt);
    let key = |name: &str| name.trim_start_matches("OUTRIGGER_").to_lowercase();
    let context: Map<String, Value> = environment
        .iter()
        .map(|(name, value)| (key(name), json!(value)))
        .collect();
    Ok(Command {
        program: path.display().to_string(),
        arguments: Vec::new(),
        environment,
        context: Value::Object(context).to_string(),
        timeout: HOOK_TIMEOUT,
    })
}

fn environment(
    effects: &Effects,
    hook: &Hook,
    attempt: &Attempt,
) -> BTreeMap<&'static str, String> {
    let folders = &effects.folders;
    let mut environment = BTreeMap::from([
        ("OUTRIGGER_HOOK", hook.name.to_owned()),
        ("OUTRIGGER_ATTEMPT", attempt.number.to_string()),
        ("OUTRIGGER_DATA", folders.data().display().to_string()),
        ("OUTRIGGER_SHARE", folders.share().display().to_string()),
    ]);
    if let Some(cluster) = &effects.contents.cluster {
        environment.insert("OUTRIGGER_CLUSTER", cluster.name().to_owned());
        let version = cluster.cluster.spec.version.trim_start_matches('v');
        environment.insert("OUTRIGGER_VERSION", version.to_owned());
    }
    if let Some(package) = &effects.contents.package {
        environment.insert("OUTRIGGER_PACKAGE", package.title());
    }
    if let Some(url) = &effects.registry_url {
        let registry = url.trim_start_matches("http://").to_owned();
        environment.insert("OUTRIGGER_REGISTRY", registry);
    }
    // Before the cluster there is none.
    let kubeconfig = folders.kubeconfig();
    if hook.name != "pre-install" && kubeconfig.exists() {
        environment.insert("KUBECONFIG", kubeconfig.display().to_string());
    }
    environment
}

fn report(effects: &Effects, hook: &Hook, attempt: &Attempt, outcome: &Outcome) -> Report {
    let empty = Output::default();
    let (exit_code, output) = match outcome {
        Outcome::Exited { code, output } => (Some(*code), output),
        Outcome::TimedOut { output, .. } | Outcome::Lost { output } => (None, output),
        Outcome::Canceled => (None, &empty),
    };
    let (text, is_cut) = tail(&output.text, MAX_OUTPUT);
    let script = effects.contents.hooks.get(hook.name);
    let now = (effects.now)();
    let hook = HookStatus {
        name: hook.name.to_owned(),
        machine: "installer".to_owned(),
        attempt: attempt.id(),
        script_digest: script.map_or_else(String::new, |script| script.digest.to_string()),
        exit_code,
        finished: now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        output: text.to_owned(),
        truncated: output.is_truncated || is_cut,
    };
    Report {
        hook: Some(hook),
        ..Report::default()
    }
}

fn result(hook: &Hook, outcome: &Outcome) -> Result<(), String> {
    hook_result(hook.name, outcome).map_err(|error| error.to_string())
}
