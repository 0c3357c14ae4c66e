//! `StatefulSets`: creates pods in order of their ordinals, each with its own claims.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::cache::ObjectRef;
use super::object::{
    generation, insert_counts, insert_nonzero_counts, integer, is_active, is_deleting, is_ready,
    items, label, name, namespace, text, uid,
};
use super::plan::{Action, Context, Plan};
use super::pod_template::PodOwner;
use super::revision::{HASH, Revisions};

/// How many pods one reconcile creates or deletes at most.
const BURST: usize = 50;

struct Set<'a> {
    object: &'a Value,
    /// By ordinal.
    pods: Vec<(i64, &'a Arc<Value>)>,
    update_revision: &'a str,
    first: i64,
    end: i64,
}

pub(super) fn reconcile(set: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(set) {
        return Plan::none();
    }
    let revisions = Revisions::of(set, "StatefulSet", ctx);
    let mut actions = revisions.actions.clone();
    let pods = ctx.cache.controlled("pods", uid(set));
    let mut pods: Vec<_> = pods
        .into_iter()
        .filter_map(|pod| Some((ordinal(set, pod)?, pod)))
        .collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let first = integer(&set["spec"]["ordinals"]["start"]).unwrap_or(0);
    let replicas = integer(&set["spec"]["replicas"]).unwrap_or(1).max(0);
    let set = Set {
        object: set,
        pods,
        update_revision: &revisions.update_revision,
        first,
        end: first.saturating_add(replicas),
    };
    actions.extend(set.sync_pods(ctx));
    actions.extend(set.status());
    Plan::now(actions)
}

fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let ordinal = name(pod).strip_prefix(name(set))?.strip_prefix('-')?;
    ordinal.parse().ok()
}

impl Set<'_> {
    fn pod(&self, ordinal: i64) -> Option<&Arc<Value>> {
        let mut pods = self.pods.iter();
        pods.find(|(candidate, _)| *candidate == ordinal)
            .map(|(_, pod)| *pod)
    }

    /// Creates, deletes or replaces pods; one at a time, unless `podManagementPolicy` is `Parallel`.
    fn sync_pods(&self, ctx: &Context<'_>) -> Vec<Action> {
        let in_order = text(&self.object["spec"]["podManagementPolicy"]) != "Parallel";
        let mut actions = Vec::new();
        for ordinal in self.first..self.end {
            if actions.len() >= BURST {
                return actions;
            }
            match self.pod(ordinal) {
                Some(pod) if is_active(pod) && is_ready(pod) => {}
                Some(pod) if is_active(pod) || is_deleting(pod) => {
                    if in_order {
                        return actions;
                    }
                }
                // A terminated pod is deleted and created again.
                Some(pod) => {
                    actions.push(Action::Delete(ObjectRef::of("pods", pod)));
                    if in_order {
                        return actions;
                    }
                }
                None => {
                    actions.extend(self.claims(ordinal, ctx));
                    actions.push(Action::Create("pods", self.new_pod(ordinal, ctx)));
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
            .filter(|(ordinal, _)| !(self.first..self.end).contains(ordinal));
        for (_, pod) in surplus {
            if !is_deleting(pod) {
                actions.push(Action::Delete(ObjectRef::of("pods", pod)));
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

    /// Deletes the pod with the highest ordinal that has an old revision, so that it is created again.
    fn update(&self) -> Option<Action> {
        let strategy = &self.object["spec"]["updateStrategy"];
        if text(&strategy["type"]) == "OnDelete" {
            return None;
        }
        let partition = integer(&strategy["rollingUpdate"]["partition"]).unwrap_or(0);
        for (ordinal, pod) in self.pods.iter().rev() {
            if *ordinal < partition {
                return None;
            }
            if is_deleting(pod) || !is_ready(pod) {
                return None;
            }
            if label(pod, HASH) != self.update_revision {
                return Some(Action::Delete(ObjectRef::of("pods", pod)));
            }
        }
        None
    }

    fn new_pod(&self, ordinal: i64, ctx: &Context<'_>) -> Value {
        let owner = PodOwner {
            owner: self.object,
            api_version: "apps/v1",
            kind: "StatefulSet",
        };
        let pod_name = format!("{}-{ordinal}", name(self.object));
        let index = ordinal.to_string();
        let labels = [
            (HASH, self.revision_of(ordinal)),
            ("statefulset.kubernetes.io/pod-name", pod_name.as_str()),
            ("apps.kubernetes.io/pod-index", index.as_str()),
        ];
        let mut pod = owner.pod(&self.template_of(ordinal, ctx), &labels);
        pod["metadata"]["name"] = pod_name.clone().into();
        pod["metadata"]["generateName"] = format!("{}-", name(self.object)).into();
        pod["spec"]["hostname"] = pod_name.into();
        if !text(&self.object["spec"]["serviceName"]).is_empty() {
            pod["spec"]["subdomain"] = self.object["spec"]["serviceName"].clone();
        }
        let claims = items(&self.object["spec"]["volumeClaimTemplates"]).iter();
        let claims = claims.map(|claim| {
            let volume = name(claim);
            json!({"name": volume, "persistentVolumeClaim": {"claimName": self.claim_name(volume, ordinal)}})
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

    /// Pods below the partition keep the current revision.
    fn revision_of(&self, ordinal: i64) -> &str {
        let partition =
            integer(&self.object["spec"]["updateStrategy"]["rollingUpdate"]["partition"]);
        let current = text(&self.object["status"]["currentRevision"]);
        if ordinal < partition.unwrap_or(0) && !current.is_empty() {
            current
        } else {
            self.update_revision
        }
    }

    /// The template of the revision of a pod: one below the partition is created again as it was.
    fn template_of(&self, ordinal: i64, ctx: &Context<'_>) -> Value {
        let wanted = self.revision_of(ordinal);
        let known = ctx
            .cache
            .controlled("controllerrevisions", uid(self.object));
        let old = known
            .iter()
            .find(|revision| wanted != self.update_revision && name(revision) == wanted);
        let Some(old) = old else {
            return self.object["spec"]["template"].clone();
        };
        let mut template = old["data"]["spec"]["template"].clone();
        if let Some(template) = template.as_object_mut() {
            template.remove("$patch");
        }
        template
    }

    fn claim_name(&self, volume: &str, ordinal: i64) -> String {
        format!("{volume}-{}-{ordinal}", name(self.object))
    }

    fn claims(&self, ordinal: i64, ctx: &Context<'_>) -> Vec<Action> {
        let templates = items(&self.object["spec"]["volumeClaimTemplates"]).iter();
        let claims = templates.filter_map(|template| {
            let claim = self.claim_name(name(template), ordinal);
            let id = ObjectRef::new("persistentvolumeclaims", namespace(self.object), &claim);
            if ctx.cache.get(&id).is_some() {
                return None;
            }
            let mut labels = template["metadata"]["labels"].clone();
            if let Some(update_revision) =
                self.object["spec"]["selector"]["matchLabels"].as_object()
            {
                for (key, value) in update_revision {
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
            .filter(|pod| label(pod, HASH) == self.update_revision)
            .count();
        let old = text(&self.object["status"]["currentRevision"]);
        let count = usize::try_from(self.end.saturating_sub(self.first)).unwrap_or(0);
        let is_done = updated == count && ready == count && active.len() == count;
        let current = if is_done || old.is_empty() {
            self.update_revision
        } else {
            old
        };
        let of_current = active
            .iter()
            .filter(|pod| label(pod, HASH) == current)
            .count();
        let mut status = Map::new();
        insert_counts(
            &mut status,
            [("replicas", active.len()), ("availableReplicas", ready)],
        );
        insert_nonzero_counts(
            &mut status,
            [
                ("readyReplicas", ready),
                ("currentReplicas", of_current),
                ("updatedReplicas", updated),
            ],
        );
        status.insert(
            "observedGeneration".to_owned(),
            generation(self.object).into(),
        );
        status.insert("currentRevision".to_owned(), current.into());
        status.insert("updateRevision".to_owned(), self.update_revision.into());
        status.insert("collisionCount".to_owned(), 0.into());
        Action::update_status("statefulsets", self.object, &status)
    }
}
