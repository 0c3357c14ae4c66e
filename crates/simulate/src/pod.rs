//! Pods: binds them to the simulated node, starts them, finishes those that finish, and removes deleted ones.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::behavior::Behavior;
use super::cache::ObjectRef;
use super::condition::Condition;
use super::containers;
use super::event;
use super::node;
use super::object::{behavior, generation, is_deleting, items, namespace, text, uid};
use super::plan::{Action, Context, Plan};
use super::references;
use super::scheduling;

const POD: (&str, &str) = ("v1", "Pod");

/// The state of a pod and its containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Bound to the node; no container runs.
    Starting,
    /// Volumes cannot be mounted.
    Unmounted,
    /// Init containers cannot be created, because of a missing object or key.
    InitConfigError,
    /// Containers cannot be created, because of a missing object or key.
    ConfigError,
    Running {
        is_ready: bool,
    },
    /// Containers terminate and are restarted.
    Crashing,
    Succeeded,
    Failed,
}

pub(super) fn reconcile(pod: &Value, ctx: &Context<'_>) -> Plan {
    let id = ObjectRef::of("pods", pod);
    if is_deleting(pod) {
        return Plan::after("end", ctx.options.delay, [Action::DeleteNow(id)]);
    }
    let phase = text(&pod["status"]["phase"]);
    if matches!(phase, "Succeeded" | "Failed") {
        return Plan::none();
    }
    if let Some(message) = unbound_claim(pod, ctx) {
        return unschedulable(pod, ctx, &message);
    }
    if text(&pod["spec"]["nodeName"]).is_empty() {
        return match scheduling::obstacle(pod, ctx) {
            Some(message) => unschedulable(pod, ctx, &message),
            None => Plan::now([Action::Bind(id)]),
        };
    }
    if text(&pod["spec"]["nodeName"]) != node::NAME {
        // The pod belongs to a real node.
        return Plan::none();
    }
    let behavior = behavior(ctx.cache, pod);
    let enter = |phase: Phase| update_status(pod, phase, ctx);
    if phase != "Running" {
        if let Some(plan) = blocked(pod, ctx) {
            return plan;
        }
        let delay = match behavior {
            Behavior::Slow(delay) => delay,
            _ => ctx.options.delay,
        };
        let started = enter(Phase::Starting);
        let goal = if behavior == Behavior::CrashLoop {
            Phase::Crashing
        } else {
            Phase::Running {
                is_ready: behavior != Behavior::NeverReady,
            }
        };
        return Plan::now(started).and_after(format!("start {behavior:?}"), delay, enter(goal));
    }
    running(pod, behavior, ctx)
}

/// A pod that cannot start, because of a missing `ConfigMap` or Secret.
fn blocked(pod: &Value, ctx: &Context<'_>) -> Option<Plan> {
    let config_error =
        |containers: &str| references::first_config_error(pod, containers, ctx.cache);
    let (phase, reason, message) = if let Some(message) = references::failed_mount(pod, ctx.cache) {
        (Phase::Unmounted, "FailedMount", message)
    } else if let Some(message) = config_error("initContainers") {
        let message = format!("Error: {message}");
        (Phase::InitConfigError, "Failed", message)
    } else {
        let message = format!("Error: {}", config_error("containers")?);
        (Phase::ConfigError, "Failed", message)
    };
    let update = update_status(pod, phase, ctx);
    let event = update
        .is_some()
        .then(|| event::warning(POD, pod, ("kubelet", reason), &message, ctx));
    Some(Plan::now(update.into_iter().chain(event)))
}

/// A pod whose containers have started.
fn running(pod: &Value, behavior: Behavior, ctx: &Context<'_>) -> Plan {
    let enter = |phase: Phase| update_status(pod, phase, ctx);
    let finishes = text(&pod["spec"]["restartPolicy"]) != "Always";
    let stage = format!("run {behavior:?} {}", generation(pod));
    match behavior {
        Behavior::CrashLoop => {
            let restarts = containers::restarts(pod);
            let wait = ctx.options.delay.saturating_mul(1 << restarts.clamp(0, 8));
            let wait = wait.clamp(ctx.options.delay, Duration::from_mins(5));
            let crash = enter(Phase::Crashing).into_iter();
            let actions = crash.chain(back_off(pod, restarts, ctx));
            Plan::after(format!("crash {restarts}"), wait, actions)
        }
        Behavior::NeverReady => Plan::now(enter(Phase::Running { is_ready: false })),
        Behavior::JobFails if finishes => {
            Plan::after(stage, ctx.options.delay, enter(Phase::Failed))
        }
        _ if finishes => Plan::after(stage, ctx.options.delay, enter(Phase::Succeeded)),
        _ => Plan::now(enter(Phase::Running { is_ready: true })),
    }
}

/// An event about a restart. The more there were, the fewer are recorded.
fn back_off(pod: &Value, restarts: i64, ctx: &Context<'_>) -> Option<Action> {
    let is_recorded = u64::try_from(restarts).is_ok_and(u64::is_power_of_two);
    let message = "Back-off restarting failed container (simulated)";
    is_recorded.then(|| event::warning(POD, pod, ("kubelet", "BackOff"), message, ctx))
}

/// Why a claim of the pod cannot be mounted.
fn unbound_claim(pod: &Value, ctx: &Context<'_>) -> Option<String> {
    let volumes = items(&pod["spec"]["volumes"]).iter();
    let mut claims =
        volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    claims.find_map(|name| {
        let id = ObjectRef::new("persistentvolumeclaims", namespace(pod), name);
        let reason = match ctx.cache.get(&id) {
            Some(claim) if claim["status"]["phase"] == "Bound" => return None,
            Some(_) => "pod has unbound immediate PersistentVolumeClaims".to_owned(),
            None => format!("persistentvolumeclaim \"{name}\" not found"),
        };
        Some(format!("0/1 nodes are available: {reason}."))
    })
}

/// A pod that cannot be scheduled.
fn unschedulable(pod: &Value, ctx: &Context<'_>, message: &str) -> Plan {
    let scheduled = Condition::new("PodScheduled", false).reason("Unschedulable", message);
    let mut status = Map::new();
    status.insert("phase".to_owned(), "Pending".into());
    status.insert(
        "conditions".to_owned(),
        json!([scheduled.for_object(pod, ctx, &[])]),
    );
    let update = Action::update_status("pods", pod, &status);
    let source = ("default-scheduler", "FailedScheduling");
    let event = update
        .is_some()
        .then(|| event::warning(POD, pod, source, message, ctx));
    Plan::now(update.into_iter().chain(event))
}

/// Updates the status to that of a pod in this phase.
fn update_status(pod: &Value, phase: Phase, ctx: &Context<'_>) -> Option<Action> {
    let (name, is_ready, reason) = match phase {
        Phase::Starting | Phase::Unmounted | Phase::InitConfigError | Phase::ConfigError => {
            ("Pending", false, "ContainersNotReady")
        }
        Phase::Running { is_ready } => ("Running", is_ready, "ContainersNotReady"),
        Phase::Crashing => ("Running", false, "ContainersNotReady"),
        Phase::Succeeded => ("Succeeded", false, "PodCompleted"),
        Phase::Failed => ("Failed", false, "PodFailed"),
    };
    let unready = format!(
        "containers with unready status: {}",
        containers::names(pod, "containers")
    );
    let ready = |kind| match is_ready {
        true => Condition::new(kind, true),
        false if matches!(phase, Phase::Succeeded | Phase::Failed) => {
            Condition::new(kind, false).reason(reason, "")
        }
        false => Condition::new(kind, false).reason(reason, &unready),
    };
    let incomplete = format!(
        "containers with incomplete status: {}",
        containers::names(pod, "initContainers")
    );
    let initialized = match phase {
        Phase::InitConfigError => {
            Condition::new("Initialized", false).reason("ContainersNotInitialized", &incomplete)
        }
        _ => Condition::new("Initialized", true),
    };
    let has_started = !matches!(phase, Phase::Starting | Phase::Unmounted);
    let conditions = [
        Condition::new("PodReadyToStartContainers", has_started),
        if phase == Phase::Succeeded {
            initialized.reason("PodCompleted", "")
        } else {
            initialized
        },
        ready("Ready"),
        ready("ContainersReady"),
        Condition::new("PodScheduled", true),
    ];
    let is_foreign = |condition: &&Value| {
        let type_ = text(&condition["type"]);
        conditions.iter().all(|own| own.type_ != type_)
    };
    let foreign = items(&pod["status"]["conditions"]).iter();
    let foreign = foreign.filter(is_foreign).cloned();
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|wanted| wanted.for_object(pod, ctx, &[]))
        .chain(foreign)
        .collect();
    let mut status = Map::new();
    status.insert("phase".to_owned(), name.into());
    status.insert("observedGeneration".to_owned(), observed_generation(pod));
    status.insert("conditions".to_owned(), conditions.into());
    status.insert("hostIP".to_owned(), node::ADDRESS.into());
    status.insert("hostIPs".to_owned(), json!([{"ip": node::ADDRESS}]));
    let started = &pod["status"]["startTime"];
    let started = if started.is_null() {
        ctx.time()
    } else {
        started.clone()
    };
    status.insert("startTime".to_owned(), started);
    if has_started {
        let address = if pod["spec"]["hostNetwork"] == true {
            node::ADDRESS.to_owned()
        } else {
            address(pod)
        };
        status.insert("podIPs".to_owned(), json!([{"ip": address}]));
        status.insert("podIP".to_owned(), address.into());
    }
    containers::fill(&mut status, pod, phase, ctx);
    Action::update_status("pods", pod, &status)
}

fn observed_generation(pod: &Value) -> Value {
    match generation(pod) {
        0 => Value::Null,
        generation => generation.into(),
    }
}

/// An address in the pod network, derived from the uid.
fn address(pod: &Value) -> String {
    let hash = uid(pod).bytes().fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let [_, high, low, _] = hash.to_be_bytes();
    format!("10.244.{high}.{}", low.clamp(1, 254))
}
