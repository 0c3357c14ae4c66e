//! `StatefulSets`: pods with numbers, one after another, each with its own claims.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::object::{
    difference, generation, integer, is_active, is_deleting, is_ready, items, label, name,
    namespace, text, uid,
};
use super::revision::{HASH, Revisions};
use super::step::{Action, Step, View};
use super::template::Maker;
use super::world::Id;

/// A set and its pods.
struct Set<'a> {
    object: &'a Value,
    /// By number.
    pods: Vec<(i64, &'a Arc<Value>)>,
    wanted: &'a str,
    first: i64,
    end: i64,
}

pub(super) fn next(set: &Value, view: &View<'_>) -> Step {
    if is_deleting(set) {
        return Step::nothing();
    }
    let revisions = Revisions::of(set, "StatefulSet", view);
    let mut actions = revisions.actions.clone();
    let pods = view.world.controlled("pods", uid(set));
    let mut pods: Vec<_> = pods
        .into_iter()
        .filter_map(|pod| Some((number(set, pod)?, pod)))
        .collect();
    pods.sort_by_key(|(number, _)| *number);
    let first = integer(&set["spec"]["ordinals"]["start"]).unwrap_or(0);
    let replicas = integer(&set["spec"]["replicas"]).unwrap_or(1).max(0);
    let set = Set {
        object: set,
        pods,
        wanted: &revisions.wanted,
        first,
        end: first.saturating_add(replicas),
    };
    actions.extend(set.change(view));
    actions.extend(set.status());
    Step::now(actions)
}

fn number(set: &Value, pod: &Value) -> Option<i64> {
    let number = name(pod).strip_prefix(name(set))?.strip_prefix('-')?;
    number.parse().ok()
}

impl Set<'_> {
    fn pod(&self, number: i64) -> Option<&Arc<Value>> {
        let mut pods = self.pods.iter();
        pods.find(|(candidate, _)| *candidate == number)
            .map(|(_, pod)| *pod)
    }

    /// One thing at a time, unless pods may be made in parallel.
    fn change(&self, view: &View<'_>) -> Vec<Action> {
        let in_order = text(&self.object["spec"]["podManagementPolicy"]) != "Parallel";
        let mut actions = Vec::new();
        for number in self.first..self.end {
            match self.pod(number) {
                Some(pod) if is_active(pod) && is_ready(pod) => {}
                Some(pod) if is_active(pod) || is_deleting(pod) => {
                    if in_order {
                        return actions;
                    }
                }
                // One that has ended makes room for another.
                Some(pod) => {
                    actions.push(Action::Delete(Id::of("pods", pod)));
                    if in_order {
                        return actions;
                    }
                }
                None => {
                    actions.extend(self.claims(number, view));
                    actions.push(Action::Create("pods", self.new_pod(number)));
                    if in_order {
                        return actions;
                    }
                }
            }
        }
        let surplus = self
            .pods
            .iter()
            .rev()
            .filter(|(number, _)| !(self.first..self.end).contains(number));
        for (_, pod) in surplus {
            if !is_deleting(pod) {
                actions.push(Action::Delete(Id::of("pods", pod)));
            }
            if in_order {
                return actions;
            }
        }
        if actions.is_empty() {
            actions.extend(self.update());
        }
        actions
    }

    /// Deletes the highest pod of an old version, so that a new one takes its place.
    fn update(&self) -> Option<Action> {
        let strategy = &self.object["spec"]["updateStrategy"];
        if text(&strategy["type"]) == "OnDelete" {
            return None;
        }
        let partition = integer(&strategy["rollingUpdate"]["partition"]).unwrap_or(0);
        for (number, pod) in self.pods.iter().rev() {
            if *number < partition {
                return None;
            }
            if is_deleting(pod) || !is_ready(pod) {
                return None;
            }
            if label(pod, HASH) != self.wanted {
                return Some(Action::Delete(Id::of("pods", pod)));
            }
        }
        None
    }

    fn new_pod(&self, number: i64) -> Value {
        let maker = Maker {
            owner: self.object,
            api_version: "apps/v1",
            kind: "StatefulSet",
        };
        let pod_name = format!("{}-{number}", name(self.object));
        let index = number.to_string();
        let labels = [
            (HASH, self.version_of(number)),
            ("statefulset.kubernetes.io/pod-name", pod_name.as_str()),
            ("apps.kubernetes.io/pod-index", index.as_str()),
        ];
        let mut pod = maker.pod(&self.object["spec"]["template"], &labels);
        pod["metadata"]["name"] = pod_name.clone().into();
        pod["metadata"]["generateName"] = format!("{}-", name(self.object)).into();
        pod["spec"]["hostname"] = pod_name.into();
        if !text(&self.object["spec"]["serviceName"]).is_empty() {
            pod["spec"]["subdomain"] = self.object["spec"]["serviceName"].clone();
        }
        let claims = items(&self.object["spec"]["volumeClaimTemplates"]).iter();
        let claims = claims.map(|claim| {
            let volume = name(claim);
            json!({"name": volume, "persistentVolumeClaim": {"claimName": self.claim_name(volume, number)}})
        });
        let mut volumes: Vec<Value> = claims.collect();
        let own = items(&pod["spec"]["volumes"]).iter();
        let own: Vec<Value> = own
            .filter(|volume| !volumes.iter().any(|claim| claim["name"] == volume["name"]))
            .cloned()
            .collect();
        volumes.extend(own);
        if !volumes.is_empty() {
            pod["spec"]["volumes"] = volumes.into();
        }
        pod
    }

    /// Pods below the partition keep the version that the set had.
    fn version_of(&self, number: i64) -> &str {
        let partition =
            integer(&self.object["spec"]["updateStrategy"]["rollingUpdate"]["partition"]);
        let current = text(&self.object["status"]["currentRevision"]);
        if number < partition.unwrap_or(0) && !current.is_empty() {
            current
        } else {
            self.wanted
        }
    }

    fn claim_name(&self, volume: &str, number: i64) -> String {
        format!("{volume}-{}-{number}", name(self.object))
    }

    fn claims(&self, number: i64, view: &View<'_>) -> Vec<Action> {
        let templates = items(&self.object["spec"]["volumeClaimTemplates"]).iter();
        let claims = templates.filter_map(|template| {
            let claim = self.claim_name(name(template), number);
            let id = Id::new("persistentvolumeclaims", namespace(self.object), &claim);
            if view.world.get(&id).is_some() {
                return None;
            }
            let mut labels = template["metadata"]["labels"].clone();
            if let Some(wanted) = self.object["spec"]["selector"]["matchLabels"].as_object() {
                for (key, value) in wanted {
                    labels[key] = value.clone();
                }
            }
            let mut object = json!({
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": namespace(self.object), "labels": labels},
                "spec": template["spec"],
            });
            if let Some(annotations) = template["metadata"].get("annotations") {
                object["metadata"]["annotations"] = annotations.clone();
            }
            Some(Action::Create("persistentvolumeclaims", object))
        });
        claims.collect()
    }

    fn status(&self) -> Option<Action> {
        let active: Vec<&Value> = self
            .pods
            .iter()
            .map(|(_, pod)| &***pod)
            .filter(|pod| is_active(pod))
            .collect();
        let ready = active.iter().filter(|pod| is_ready(pod)).count();
        let updated = active
            .iter()
            .filter(|pod| label(pod, HASH) == self.wanted)
            .count();
        let old = text(&self.object["status"]["currentRevision"]);
        let count = usize::try_from(self.end - self.first).unwrap_or(0);
        let is_done = updated == count && ready == count && active.len() == count;
        let current = if is_done || old.is_empty() {
            self.wanted
        } else {
            old
        };
        let of_current = active
            .iter()
            .filter(|pod| label(pod, HASH) == current)
            .count();
        let mut status = Map::new();
        for (key, number, always) in [
            ("replicas", active.len(), true),
            ("readyReplicas", ready, false),
            ("availableReplicas", ready, true),
            ("currentReplicas", of_current, false),
            ("updatedReplicas", updated, false),
        ] {
            status.insert(
                key.to_owned(),
                if number == 0 && !always {
                    Value::Null
                } else {
                    number.into()
                },
            );
        }
        status.insert(
            "observedGeneration".to_owned(),
            generation(self.object).into(),
        );
        status.insert("currentRevision".to_owned(), current.into());
        status.insert("updateRevision".to_owned(), self.wanted.into());
        status.insert("collisionCount".to_owned(), 0.into());
        let change = difference(&self.object["status"], &status)?;
        Some(Action::Status(Id::of("statefulsets", self.object), change))
    }
}
