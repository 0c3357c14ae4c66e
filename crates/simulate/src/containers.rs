//! The status of the containers of a pod.

use serde_json::{Map, Value, json};

use super::object::{items, text, uid};
use super::plan::Context;
use super::pod::Phase;
use super::references;

/// The restart count of the first container.
pub(super) fn restarts(pod: &Value) -> i64 {
    let statuses = items(&pod["status"]["containerStatuses"]);
    statuses
        .first()
        .and_then(|status| status["restartCount"].as_i64())
        .unwrap_or(0)
}

/// The names of the containers in a list, as the kubelet prints them: `[a b]`.
pub(super) fn names(pod: &Value, containers: &str) -> String {
    let containers = items(&pod["spec"][containers]).iter();
    let names: Vec<&str> = containers
        .map(|container| text(&container["name"]))
        .collect();
    format!("[{}]", names.join(" "))
}

/// Sets the container statuses in the status of a pod.
pub(super) fn fill(status: &mut Map<String, Value>, pod: &Value, phase: Phase, ctx: &Context<'_>) {
    let main = statuses(
        pod,
        "containers",
        "containerStatuses",
        |container, old| match phase {
            Phase::ConfigError => match references::config_error(container, pod, ctx.cache) {
                Some(message) => waiting_because("CreateContainerConfigError", &message),
                None => running(old, true, ctx),
            },
            Phase::Unmounted => {
                let message = references::failed_mount(pod, ctx.cache);
                waiting_because("ContainerCreating", &message.unwrap_or_default())
            }
            phase => state(old, phase, ctx),
        },
    );
    status.insert("containerStatuses".to_owned(), main);
    if items(&pod["spec"]["initContainers"]).is_empty() {
        return;
    }
    let init = statuses(
        pod,
        "initContainers",
        "initContainerStatuses",
        |container, old| {
            let is_sidecar = container["restartPolicy"] == "Always";
            match (phase, is_sidecar) {
                (Phase::Starting | Phase::Unmounted, _) => waiting("PodInitializing"),
                (Phase::InitConfigError, _) => {
                    match references::config_error(container, pod, ctx.cache) {
                        Some(message) => waiting_because("CreateContainerConfigError", &message),
                        None => waiting("PodInitializing"),
                    }
                }
                (Phase::Running { .. } | Phase::Crashing | Phase::ConfigError, true) => {
                    running(old, true, ctx)
                }
                _ => terminated(old, 0, "Completed", ctx),
            }
        },
    );
    status.insert("initContainerStatuses".to_owned(), init);
}

struct State {
    current: Value,
    last: Option<Value>,
    is_ready: bool,
    is_started: bool,
    more_restarts: i64,
}

fn statuses(
    pod: &Value,
    containers: &str,
    statuses: &str,
    state: impl Fn(&Value, &Value) -> State,
) -> Value {
    let containers = items(&pod["spec"][containers]).iter();
    let old = items(&pod["status"][statuses]);
    let statuses = containers.map(|container| {
        let name = &container["name"];
        let old = old.iter().find(|status| status["name"] == *name).unwrap_or(&Value::Null);
        let state = state(container, old);
        let restarts = old["restartCount"].as_i64().unwrap_or(0);
        let restarts = restarts.saturating_add(state.more_restarts);
        let last = state.last.unwrap_or_else(|| match &old["lastState"] {
            Value::Null => json!({}),
            last => last.clone(),
        });
        let has_begun = state.current.get("waiting").is_none() || restarts > 0;
        let id = if has_begun { format!("simulated://{}/{}", uid(pod), text(name)) } else { String::new() };
        let mut status = json!({
            "name": name, "image": container["image"], "imageID": "", "ready": state.is_ready,
            "started": state.is_started, "restartCount": restarts, "state": state.current, "lastState": last,
        });
        if !id.is_empty() {
            status["containerID"] = id.into();
            status["imageID"] = format!("simulated://{}", text(&container["image"])).into();
        }
        status
    });
    statuses.collect()
}

fn state(old: &Value, phase: Phase, ctx: &Context<'_>) -> State {
    match phase {
        Phase::Starting | Phase::Unmounted | Phase::ConfigError => waiting("ContainerCreating"),
        Phase::InitConfigError => waiting("PodInitializing"),
        Phase::Running { is_ready } => running(old, is_ready, ctx),
        Phase::Succeeded => terminated(old, 0, "Completed", ctx),
        Phase::Failed => terminated(old, 1, "Error", ctx),
        Phase::Crashing => {
            let message = "back-off restarting failed container (simulated)";
            let last = json!({"terminated": ended(old, 1, "Error", ctx)});
            State {
                current: json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}}),
                last: Some(last),
                is_ready: false,
                is_started: false,
                more_restarts: 1,
            }
        }
    }
}

fn waiting(reason: &str) -> State {
    State {
        current: json!({"waiting": {"reason": reason}}),
        last: None,
        is_ready: false,
        is_started: false,
        more_restarts: 0,
    }
}

fn waiting_because(reason: &str, message: &str) -> State {
    State {
        current: json!({"waiting": {"reason": reason, "message": message}}),
        ..waiting(reason)
    }
}

fn running(old: &Value, is_ready: bool, ctx: &Context<'_>) -> State {
    let since = &old["state"]["running"]["startedAt"];
    let since = if since.is_null() {
        ctx.time()
    } else {
        since.clone()
    };
    State {
        current: json!({"running": {"startedAt": since}}),
        last: None,
        is_ready,
        is_started: true,
        more_restarts: 0,
    }
}

fn terminated(old: &Value, code: i64, reason: &str, ctx: &Context<'_>) -> State {
    let current = match &old["state"]["terminated"] {
        Value::Null => json!({"terminated": ended(old, code, reason, ctx)}),
        _ => old["state"].clone(),
    };
    State {
        current,
        last: None,
        is_ready: false,
        is_started: false,
        more_restarts: 0,
    }
}

fn ended(old: &Value, code: i64, reason: &str, ctx: &Context<'_>) -> Value {
    let since = &old["state"]["running"]["startedAt"];
    let since = if since.is_null() {
        ctx.time()
    } else {
        since.clone()
    };
    json!({"exitCode": code, "reason": reason, "startedAt": since, "finishedAt": ctx.time()})
}
