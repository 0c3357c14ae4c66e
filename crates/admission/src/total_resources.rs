//! The resources that a Pod requests and is limited to as a whole.

use outrigger_builtin::fields::{list, map, text};
use serde_json::Value;

use crate::resource_list::{self, ResourceList};

/// Whether the overhead of the runtime class is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overhead {
    Counted,
    Ignored,
}

pub(crate) fn requests(spec: &Value, overhead: Overhead) -> ResourceList {
    let mut total = total(spec, "requests");
    if overhead == Overhead::Counted {
        resource_list::add(&mut total, &resource_list::parse(&spec["overhead"]));
    }
    total
}

/// Overhead raises only limits that are set.
pub(crate) fn limits(spec: &Value, overhead: Overhead) -> ResourceList {
    let mut total = total(spec, "limits");
    if overhead == Overhead::Counted {
        let mut overhead = resource_list::parse(&spec["overhead"]);
        overhead.retain(|name, _| total.get(name).is_some_and(|limit| !limit.is_zero()));
        resource_list::add(&mut total, &overhead);
    }
    total
}

/// The containers run at the same time. Init containers run one after the other beside the sidecars that were started
/// before. The resources of the Pod itself take precedence.
fn total(spec: &Value, part: &str) -> ResourceList {
    let amounts = |container: &Value| resource_list::parse(&container["resources"][part]);
    let mut total = ResourceList::new();
    for container in list(spec, "containers") {
        resource_list::add(&mut total, &amounts(container));
    }
    let (mut sidecars, mut most) = (ResourceList::new(), ResourceList::new());
    for container in list(spec, "initContainers") {
        let mut running = amounts(container);
        if text(container, "restartPolicy") == "Always" {
            resource_list::add(&mut total, &running);
            resource_list::add(&mut sidecars, &running);
            running.clone_from(&sidecars);
        } else {
            resource_list::add(&mut running, &sidecars);
        }
        resource_list::raise(&mut most, &running);
    }
    resource_list::raise(&mut total, &most);
    let own = resource_list::parse(&spec["resources"][part]);
    total.extend(own.into_iter().filter(|(name, _)| is_pod_level(name)));
    total
}

/// Whether the Pod itself, and not only its containers, has resources.
pub(crate) fn has_pod_level(spec: &Value) -> bool {
    ["requests", "limits"]
        .iter()
        .any(|part| map(&spec["resources"], part).any(|(name, _)| is_pod_level(name)))
}

fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}
