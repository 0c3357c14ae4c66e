//! The resources that pods request.

use outrigger_apimachinery::quantity::Quantity;
use serde_json::Value;

use super::object::{items, text};

/// Requests of one or more pods.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Requests {
    pods: usize,
    cpu: Quantity,
    memory: Quantity,
}

impl Requests {
    /// What a pod requests: the sum of its containers, or more while an init container runs.
    pub(super) fn of(pod: &Value) -> Self {
        let spec = &pod["spec"];
        let (mut sidecars, mut peak) = (Self::default(), Self::default());
        for container in items(&spec["initContainers"]) {
            let with_container = sidecars.plus(&Self::of_container(container));
            peak = peak.max(&with_container);
            if container["restartPolicy"] == "Always" {
                sidecars = with_container;
            }
        }
        let containers = items(&spec["containers"]).iter().map(Self::of_container);
        let running = containers.fold(sidecars, |sum, container| sum.plus(&container));
        let mut total = running.max(&peak).plus(&Self::of_list(&spec["overhead"]));
        total.pods = 1;
        total
    }

    fn of_container(container: &Value) -> Self {
        Self::of_list(&container["resources"]["requests"])
    }

    fn of_list(list: &Value) -> Self {
        Self {
            pods: 0,
            cpu: quantity(&list["cpu"]),
            memory: quantity(&list["memory"]),
        }
    }

    /// The amount of a resource of a node.
    pub(super) fn get(&self, resource: &str) -> Quantity {
        match resource {
            "pods" => Quantity::from_count(self.pods),
            "cpu" => self.cpu,
            "memory" => self.memory,
            _ => Quantity::ZERO,
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            pods: self.pods.saturating_add(other.pods),
            cpu: self.cpu.plus(other.cpu),
            memory: self.memory.plus(other.memory),
        }
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        Self {
            pods: self.pods.saturating_sub(other.pods),
            cpu: self.cpu.minus(other.cpu),
            memory: self.memory.minus(other.memory),
        }
    }

    fn max(&self, other: &Self) -> Self {
        let larger = |a: Quantity, b: Quantity| if a > b { a } else { b };
        Self {
            pods: self.pods.max(other.pods),
            cpu: larger(self.cpu, other.cpu),
            memory: larger(self.memory, other.memory),
        }
    }
}

/// The quantity of a field; zero if it has none.
pub(super) fn quantity(value: &Value) -> Quantity {
    Quantity::parse(text(value)).unwrap_or(Quantity::ZERO)
}
