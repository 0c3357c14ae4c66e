//! Pods: placed on the node, started, ready; those that end, end; those that are deleted go.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::conditions::Wanted;
use super::containers;
use super::mode::Mode;
use super::node;
use super::object::{difference, generation, is_deleting, items, mode, namespace, text, uid};
use super::step::{Action, Step, View};
use super::world::Id;

/// What a pod is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Placed, and nothing runs.
    Starting,
    /// Containers run.
    Running {
        is_ready: bool,
    },
    /// Containers end and are started again.
    Crashing,
    Succeeded,
    Failed,
}

pub(super) fn next(pod: &Value, view: &View<'_>) -> Step {
    let id = Id::of("pods", pod);
    if is_deleting(pod) {
        return Step::later("end", view.options.delay, [Action::DeleteNow(id)]);
    }
    let phase = text(&pod["status"]["phase"]);
    if matches!(phase, "Succeeded" | "Failed") {
        return Step::nothing();
    }
    if let Some(claim) = missing_claim(pod, view) {
        return unplaced(pod, view, &claim);
    }
    if text(&pod["spec"]["nodeName"]).is_empty() {
        return Step::now([Action::Bind(id)]);
    }
    if text(&pod["spec"]["nodeName"]) != node::NAME {
        // Somebody else's pod.
        return Step::nothing();
    }
    let mode = mode(view.world, pod);
    let enter = |phase: Phase| status_action(pod, phase, view);
    if phase != "Running" {
        let delay = match mode {
            Mode::Slow(delay) => delay,
            _ => view.options.delay,
        };
        let started = enter(Phase::Starting).into_iter().collect::<Vec<_>>();
        let goal = if mode == Mode::CrashLoop {
            Phase::Crashing
        } else {
            Phase::Running {
                is_ready: mode != Mode::NeverReady,
            }
        };
        let goal = enter(goal).into_iter().collect::<Vec<_>>();
        return Step::now(started).and_later(format!("start {mode:?}"), delay, goal);
    }
    running(pod, mode, view)
}

/// A pod whose containers run, or should.
fn running(pod: &Value, mode: Mode, view: &View<'_>) -> Step {
    let enter = |phase: Phase| {
        status_action(pod, phase, view)
            .into_iter()
            .collect::<Vec<_>>()
    };
    let ends = text(&pod["spec"]["restartPolicy"]) != "Always";
    let stage = format!("run {mode:?} {}", generation(pod));
    match mode {
        Mode::CrashLoop => {
            let restarts = containers::restarts(pod);
            let wait = view.options.delay.saturating_mul(1 << restarts.clamp(0, 8));
            let wait = wait.clamp(view.options.delay, Duration::from_mins(5));
            Step::later(format!("crash {restarts}"), wait, enter(Phase::Crashing))
        }
        Mode::NeverReady => Step::now(enter(Phase::Running { is_ready: false })),
        Mode::JobFails if ends => Step::later(stage, view.options.delay, enter(Phase::Failed)),
        _ if ends => Step::later(stage, view.options.delay, enter(Phase::Succeeded)),
        _ => Step::now(enter(Phase::Running { is_ready: true })),
    }
}

/// A claim of the pod that has no volume.
fn missing_claim(pod: &Value, view: &View<'_>) -> Option<String> {
    let volumes = items(&pod["spec"]["volumes"]).iter();
    let mut claims =
        volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    claims
        .find(|claim| {
            let id = Id::new("persistentvolumeclaims", namespace(pod), claim);
            let claim = view.world.get(&id);
            claim.is_none_or(|claim| claim["status"]["phase"] != "Bound")
        })
        .map(str::to_owned)
}

/// A pod that no node takes.
fn unplaced(pod: &Value, view: &View<'_>, claim: &str) -> Step {
    let id = Id::new("persistentvolumeclaims", namespace(pod), claim);
    let message = match view.world.get(&id) {
        Some(_) => {
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.".to_owned()
        }
        None => format!("0/1 nodes are available: persistentvolumeclaim \"{claim}\" not found."),
    };
    let scheduled = Wanted::new("PodScheduled", false).because("Unschedulable", &message);
    let mut status = Map::new();
    status.insert("phase".to_owned(), "Pending".into());
    status.insert(
        "conditions".to_owned(),
        json!([scheduled.on(pod, view, &[])]),
    );
    let change = difference(&pod["status"], &status);
    Step::now(
        change
            .map(|change| Action::Status(Id::of("pods", pod), change))
            .into_iter()
            .collect::<Vec<_>>(),
    )
}

/// Brings the status to what a pod in this phase has; none if it is there.
fn status_action(pod: &Value, phase: Phase, view: &View<'_>) -> Option<Action> {
    let (name, is_ready, reason) = match phase {
        Phase::Starting => ("Pending", false, "ContainersNotReady"),
        Phase::Running { is_ready } => ("Running", is_ready, "ContainersNotReady"),
        Phase::Crashing => ("Running", false, "ContainersNotReady"),
        Phase::Succeeded => ("Succeeded", false, "PodCompleted"),
        Phase::Failed => ("Failed", false, "PodFailed"),
    };
    let unready = format!("containers with unready status: {}", containers::names(pod));
    let ready = |kind| match is_ready {
        true => Wanted::new(kind, true),
        false if matches!(phase, Phase::Succeeded | Phase::Failed) => {
            Wanted::new(kind, false).because(reason, "")
        }
        false => Wanted::new(kind, false).because(reason, &unready),
    };
    let initialized = Wanted::new("Initialized", true);
    let has_started = phase != Phase::Starting;
    let conditions = [
        Wanted::new("PodReadyToStartContainers", has_started),
        if phase == Phase::Succeeded {
            initialized.because("PodCompleted", "")
        } else {
            initialized
        },
        ready("Ready"),
        ready("ContainersReady"),
        Wanted::new("PodScheduled", true),
    ];
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|wanted| wanted.on(pod, view, &[]))
        .collect();
    let mut status = Map::new();
    status.insert("phase".to_owned(), name.into());
    status.insert("conditions".to_owned(), conditions.into());
    status.insert("hostIP".to_owned(), node::ADDRESS.into());
    status.insert("hostIPs".to_owned(), json!([{"ip": node::ADDRESS}]));
    let started = &pod["status"]["startTime"];
    let started = if started.is_null() {
        view.time()
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
    containers::fill(&mut status, pod, phase, view);
    let change = difference(&pod["status"], &status)?;
    Some(Action::Status(Id::of("pods", pod), change))
}

/// An address in the network of pods; the same for the same pod.
fn address(pod: &Value) -> String {
    let hash = uid(pod).bytes().fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let [_, high, low, _] = hash.to_be_bytes();
    format!("10.244.{high}.{}", low.clamp(1, 254))
}
