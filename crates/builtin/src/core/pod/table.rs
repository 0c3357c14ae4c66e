//! The table cells of Pods, with the status that `kubectl get pods` shows.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fields::{list, number, text};
use crate::kinds::Kind;
use crate::table::cells::{age, has_condition, name, text_or};
use crate::table::moment::{Now, parse};

pub(crate) fn cells(pod: &Value, now: Now) -> Vec<Value> {
    let state = State::of(pod);
    let restarts = match state.last_restart {
        Some(time) if state.restarts != 0 => {
            let ago = now.since(Some(&time.to_string()));
            format!("{} ({ago} ago)", state.restarts)
        }
        _ => state.restarts.to_string(),
    };
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let address = &status["podIPs"][0];
    vec![
        name(pod),
        format!("{}/{}", state.ready, state.total).into(),
        state.reason.into(),
        restarts.into(),
        age(pod, now),
        text_or(address, "ip", "<none>").into(),
        text_or(spec, "nodeName", "<none>").into(),
        text_or(status, "nominatedNodeName", "<none>").into(),
        readiness_gates(pod).into(),
    ]
}

/// The row conditions of a completed Pod.
pub(crate) fn row_conditions(kind: &Kind, object: &Value) -> Option<Value> {
    if (kind.group.as_str(), kind.kind.as_str()) != ("", "Pod") {
        return None;
    }
    let (reason, message) = match text(&object["status"], "phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{
        "type": "Completed",
        "status": "True",
        "reason": reason,
        "message": message,
    }]))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(&pod["spec"], "readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let is_open = |gate: &&Value| has_condition(pod, text(gate, "conditionType"), "True");
    format!("{}/{}", gates.iter().filter(is_open).count(), gates.len())
}

#[derive(Default)]
struct State {
    ready: usize,
    total: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl State {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let sidecars = list(spec, "initContainers")
            .iter()
            .filter(|container| is_sidecar(container));
        let mut state = Self {
            total: list(spec, "containers")
                .len()
                .saturating_add(sidecars.count()),
            reason: text_or(status, "reason", text(status, "phase")).to_owned(),
            ..Self::default()
        };
        let is_gated = |condition: &Value| {
            condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
        };
        if list(status, "conditions").iter().any(is_gated) {
            "SchedulingGated".clone_into(&mut state.reason);
        }
        let is_initializing = state.observe_init_containers(pod);
        if !is_initializing || has_condition(pod, "Initialized", "True") {
            state.observe_containers(pod);
        }
        let phase = text(status, "phase");
        if pod["metadata"]["deletionTimestamp"].is_string() {
            if status["reason"] == "NodeLost" {
                "Unknown".clone_into(&mut state.reason);
            } else if !matches!(phase, "Succeeded" | "Failed") {
                "Terminating".clone_into(&mut state.reason);
            }
        }
        state
    }

    /// Returns whether the Pod is still initializing. Restarts counted here are reset once it has initialized, except those
    /// of sidecars.
    fn observe_init_containers(&mut self, pod: &Value) -> bool {
        let spec = &pod["spec"];
        let declared = list(spec, "initContainers");
        let mut of_sidecars = (0, None);
        let mut is_initializing = false;
        for (index, container) in list(&pod["status"], "initContainerStatuses")
            .iter()
            .enumerate()
        {
            self.count_restarts(container);
            let sidecar = declared
                .iter()
                .find(|declared| declared["name"] == container["name"])
                .is_some_and(is_sidecar);
            if sidecar {
                of_sidecars.0 = number(container, "restartCount").saturating_add(of_sidecars.0);
                of_sidecars.1 = of_sidecars.1.max(last_end(container));
            }
            let ended = &container["state"]["terminated"];
            if ended.is_object() && number(ended, "exitCode") == 0 {
                continue;
            }
            if sidecar && container["started"] == true {
                self.ready = self
                    .ready
                    .saturating_add(usize::from(container["ready"] == true));
                continue;
            }
            let waiting = text(&container["state"]["waiting"], "reason");
            self.reason = if ended.is_object() {
                format!("Init:{}", end_reason(ended))
            } else if !matches!(waiting, "" | "PodInitializing") {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", declared.len())
            };
            is_initializing = true;
            break;
        }
        if !is_initializing || has_condition(pod, "Initialized", "True") {
            (self.restarts, self.last_restart) = of_sidecars;
        }
        is_initializing
    }

    fn observe_containers(&mut self, pod: &Value) {
        let mut is_running = false;
        let mut failure = None;
        for container in list(&pod["status"], "containerStatuses").iter().rev() {
            self.count_restarts(container);
            let state = &container["state"];
            let waiting = text(&state["waiting"], "reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if state["terminated"].is_object() {
                self.reason = end_reason(&state["terminated"]);
                if number(&state["terminated"], "exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if container["ready"] == true && state["running"].is_object() {
                is_running = true;
                self.ready = self.ready.saturating_add(1);
            }
        }
        if self.reason != "Completed" {
            return;
        }
        // Some containers have completed, others may still run.
        if is_running && has_condition(pod, "Ready", "True") {
            "Running".clone_into(&mut self.reason);
        } else if let Some(failure) = failure {
            self.reason = failure;
        } else if is_running {
            "NotReady".clone_into(&mut self.reason);
        }
    }

    fn count_restarts(&mut self, container: &Value) {
        self.restarts = number(container, "restartCount").saturating_add(self.restarts);
        self.last_restart = self.last_restart.max(last_end(container));
    }
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn last_end(container: &Value) -> Option<Timestamp> {
    parse(container["lastState"]["terminated"]["finishedAt"].as_str()?)
}

fn end_reason(ended: &Value) -> String {
    match (text(ended, "reason"), number(ended, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(ended, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
