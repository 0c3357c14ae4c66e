//! Deployments: creates a `ReplicaSet` for each revision of the template and scales them according to the strategy.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::adoption;
use super::behavior::SIMULATE;
use super::cache::ObjectRef;
use super::condition::Condition;
use super::object::{
    annotation, compute_hash, condition, controller_reference, generation, insert_nonzero_counts,
    integer, is_active, is_deleting, name, namespace, text, uid,
};
use super::plan::{Action, Context, Plan};
use super::pod_template::{PodOwner, without_hash};
use super::rollout::{Counts, Rollout, Strategy};

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations of a Deployment that its sets do not inherit. A copy of the behavior would outlive it.
const OWN_ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision-history",
    REVISION,
    DESIRED,
    MAX,
    SIMULATE,
];

/// A deployment and its replica sets.
struct Sets<'a> {
    deployment: &'a Value,
    new: Option<&'a Arc<Value>>,
    old: Vec<&'a Arc<Value>>,
}

pub(super) fn reconcile(deployment: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(deployment) {
        return Plan::none();
    }
    let owner = PodOwner {
        owner: deployment,
        api_version: "apps/v1",
        kind: "Deployment",
    };
    let claims = adoption::claim(owner, "replicasets", &deployment["spec"]["selector"], ctx);
    if !claims.is_empty() {
        return Plan::now(claims);
    }
    let wanted = without_hash(&deployment["spec"]["template"], HASH);
    let all = ctx.cache.controlled("replicasets", uid(deployment));
    let (new, old): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|set| without_hash(&set["spec"]["template"], HASH) == wanted);
    // If two sets have the current template, the first is used.
    let (new, rest) = new
        .split_first()
        .map_or((None, &[][..]), |(first, rest)| (Some(*first), rest));
    let sets = Sets {
        deployment,
        new,
        old: old.into_iter().chain(rest.iter().copied()).collect(),
    };
    let mut actions = sets.roll_out(ctx);
    actions.extend(sets.clean_up());
    actions.extend(sets.annotate_revision());
    let (status, deadline) = sets.status(ctx);
    actions.extend(status);
    let plan = Plan::now(actions);
    match deadline {
        Some(wait) => plan.and_after(format!("deadline {}", generation(deployment)), wait, []),
        None => plan,
    }
}

fn replicas(set: &Value) -> i64 {
    integer(&set["spec"]["replicas"]).unwrap_or(0)
}

fn revision(object: &Value) -> i64 {
    annotation(object, REVISION).parse().unwrap_or(0)
}

fn count(set: &Value, key: &str) -> i64 {
    integer(&set["status"][key]).unwrap_or(0)
}

impl Sets<'_> {
    fn all(&self) -> impl Iterator<Item = &Value> {
        self.new.iter().chain(&self.old).map(|set| &***set)
    }

    fn desired(&self) -> i64 {
        integer(&self.deployment["spec"]["replicas"]).unwrap_or(1)
    }

    fn strategy(&self) -> Strategy {
        Strategy::of(&self.deployment["spec"]["strategy"], self.desired())
    }

    /// Scales the new and the old sets as far as the strategy allows now.
    fn roll_out(&self, ctx: &Context<'_>) -> Vec<Action> {
        let paused = self.deployment["spec"]["paused"] == true;
        if paused && self.new.is_none() {
            return Vec::new();
        }
        let old_pods = self
            .old
            .iter()
            .flat_map(|set| ctx.cache.controlled("pods", uid(set)));
        let has_old_pods = old_pods
            .into_iter()
            .any(|pod| is_active(pod) || is_deleting(pod));
        let counts = |set: &Value| Counts {
            replicas: replicas(set),
            available: count(set, "availableReplicas"),
        };
        let rollout = Rollout {
            desired: self.desired(),
            strategy: self.strategy(),
            new: self.new.map(|set| counts(set)).unwrap_or_default(),
            old: self.old.iter().map(|set| counts(set)).collect(),
            has_old_pods,
        };
        let Some(new) = self.new else {
            return vec![Action::Create(
                "replicasets",
                self.new_set(rollout.new_replicas()),
            )];
        };
        let mut actions = Vec::new();
        actions.extend(self.scale(new, rollout.new_replicas()));
        if !paused {
            for (set, wanted) in self.old.iter().zip(rollout.old_replicas()) {
                actions.extend(self.scale(set, wanted));
            }
        }
        actions
    }

    fn scale(&self, set: &Value, wanted: i64) -> Option<Action> {
        let annotations = self.replica_annotations();
        let is_annotated = annotations
            .iter()
            .all(|(key, value)| annotation(set, key) == *value);
        if replicas(set) == wanted && (is_annotated || wanted == 0) {
            return None;
        }
        let annotations: Map<String, Value> = annotations
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect();
        let change =
            json!({"metadata": {"annotations": annotations}, "spec": {"replicas": wanted}});
        Some(Action::Patch(ObjectRef::of("replicasets", set), change))
    }

    fn replica_annotations(&self) -> [(&'static str, String); 2] {
        let max = self.desired().saturating_add(self.strategy().surge());
        [
            (DESIRED, self.desired().to_string()),
            (MAX, max.to_string()),
        ]
    }

    fn new_set(&self, replicas: i64) -> Value {
        let deployment = self.deployment;
        let template = &deployment["spec"]["template"];
        let hash = compute_hash(&without_hash(template, HASH));
        let mut annotations = self.inherited_annotations();
        let next = self
            .all()
            .map(revision)
            .max()
            .unwrap_or(0)
            .saturating_add(1);
        annotations.insert(REVISION.to_owned(), next.to_string().into());
        for (key, value) in self.replica_annotations() {
            annotations.insert(key.to_owned(), value.into());
        }
        let mut set = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": format!("{}-{hash}", name(deployment)),
                "namespace": namespace(deployment),
                "labels": template["metadata"]["labels"],
                "annotations": annotations,
                "ownerReferences": controller_reference(deployment, "apps/v1", "Deployment"),
            },
            "spec": {
                "replicas": replicas,
                "selector": deployment["spec"]["selector"],
                "template": template,
            },
        });
        if let Some(seconds) =
            integer(&deployment["spec"]["minReadySeconds"]).filter(|seconds| *seconds > 0)
        {
            set["spec"]["minReadySeconds"] = seconds.into();
        }
        set["metadata"]["labels"][HASH] = hash.clone().into();
        set["spec"]["selector"]["matchLabels"][HASH] = hash.clone().into();
        set["spec"]["template"]["metadata"]["labels"][HASH] = hash.into();
        set
    }

    /// The annotations that the current set has from the deployment.
    fn inherited_annotations(&self) -> Map<String, Value> {
        let annotations = self.deployment["metadata"]["annotations"].as_object();
        let mut annotations = annotations.cloned().unwrap_or_default();
        annotations.retain(|key, _| !OWN_ANNOTATIONS.contains(&key.as_str()));
        annotations
    }

    /// Sets the revision annotation of the deployment and its current set to the highest of all sets, and copies the other
    /// annotations to the current set.
    fn annotate_revision(&self) -> Vec<Action> {
        let Some(new) = self.new else {
            return Vec::new();
        };
        let highest = self.old.iter().map(|set| revision(set)).max().unwrap_or(0);
        let own = if revision(new) > highest {
            revision(new)
        } else {
            highest.saturating_add(1)
        };
        let text = own.to_string();
        let mut actions = Vec::new();
        let mut annotations = self.inherited_annotations();
        annotations.insert(REVISION.to_owned(), text.as_str().into());
        annotations.retain(|key, value| new["metadata"]["annotations"][key.as_str()] != *value);
        if !annotations.is_empty() {
            let change = json!({"metadata": {"annotations": annotations}});
            actions.push(Action::Patch(ObjectRef::of("replicasets", new), change));
        }
        if annotation(self.deployment, REVISION) != text {
            let id = ObjectRef::of("deployments", self.deployment);
            actions.push(Action::Annotate(id, json!({REVISION: text})));
        }
        actions
    }

    /// Deletes old sets without pods beyond the history limit.
    fn clean_up(&self) -> Vec<Action> {
        let limit = integer(&self.deployment["spec"]["revisionHistoryLimit"]).unwrap_or(10);
        let idle = self
            .old
            .iter()
            .filter(|set| !is_deleting(set) && replicas(set) == 0 && count(set, "replicas") == 0);
        let mut idle: Vec<_> = idle.collect();
        idle.sort_by_key(|set| revision(set));
        let surplus = idle
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or(0));
        idle.iter()
            .take(surplus)
            .map(|set| Action::Delete(ObjectRef::of("replicasets", set)))
            .collect()
    }

    /// The status update, and the time until the progress deadline.
    fn status(&self, ctx: &Context<'_>) -> (Option<Action>, Option<Duration>) {
        let deployment = self.deployment;
        let sum = |key: &str| self.all().map(|set| count(set, key)).sum::<i64>();
        let updated = self.new.map_or(0, |set| count(set, "replicas"));
        let (total, ready, available) = (
            sum("replicas"),
            sum("readyReplicas"),
            sum("availableReplicas"),
        );
        let wanted: i64 = self.all().map(replicas).sum();
        let unavailable = wanted.saturating_sub(available).max(0);
        let mut status = Map::new();
        insert_nonzero_counts(
            &mut status,
            [
                ("replicas", total),
                ("updatedReplicas", updated),
                ("readyReplicas", ready),
                ("availableReplicas", available),
                ("unavailableReplicas", unavailable),
            ],
        );
        status.insert(
            "observedGeneration".to_owned(),
            generation(deployment).into(),
        );
        status.insert(
            "terminatingReplicas".to_owned(),
            sum("terminatingReplicas").into(),
        );
        let is_complete = self.new.is_some()
            && updated == self.desired()
            && total == self.desired()
            && available == self.desired();
        let has_progressed = [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
        ]
        .iter()
        .any(|key| status[*key] != deployment["status"][*key]);
        let (progressing, deadline) = self.progressing(ctx, is_complete, has_progressed);
        let min_available = self.desired().saturating_sub(self.strategy().unavailable());
        let available = if available >= min_available {
            Condition::new("Available", true).reason(
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        } else {
            Condition::new("Available", false).reason(
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        let available = available.for_object(deployment, ctx, &["lastUpdateTime"]);
        let conditions = [available, progressing].into_iter();
        let conditions = conditions.chain(self.replica_failure(ctx));
        status.insert("conditions".to_owned(), conditions.collect());
        let update = Action::update_status("deployments", deployment, &status);
        (update, deadline)
    }

    /// Why pods cannot be created: the failure of the current set, or else of an old one.
    fn replica_failure(&self, ctx: &Context<'_>) -> Option<Value> {
        let failure = self
            .all()
            .find_map(|set| condition(set, "ReplicaFailure"))?;
        let (reason, message) = (text(&failure["reason"]), text(&failure["message"]));
        let failure = Condition::new("ReplicaFailure", true).reason(reason, message);
        Some(failure.for_object(self.deployment, ctx, &["lastUpdateTime"]))
    }

    fn progressing(
        &self,
        ctx: &Context<'_>,
        is_complete: bool,
        has_progressed: bool,
    ) -> (Value, Option<Duration>) {
        let deployment = self.deployment;
        let set = self.new.map_or("", |set| name(set));
        let quoted = format!("\"{set}\"");
        let about = |words: &str| format!("ReplicaSet {quoted} {words}");
        let write = |is_true: bool, reason: &str, message: &str| {
            let wanted = Condition::new("Progressing", is_true).reason(reason, message);
            wanted.for_object(deployment, ctx, &["lastUpdateTime"])
        };
        if is_complete {
            return (
                write(
                    true,
                    "NewReplicaSetAvailable",
                    &about("has successfully progressed."),
                ),
                None,
            );
        }
        if deployment["spec"]["paused"] == true {
            let mut paused = write(true, "DeploymentPaused", "Deployment is paused");
            paused["status"] = "Unknown".into();
            return (paused, None);
        }
        let old = condition(deployment, "Progressing");
        let reason = old.map_or("", |old| text(&old["reason"]));
        let seconds = integer(&deployment["spec"]["progressDeadlineSeconds"]).unwrap_or(600);
        let since = old.and_then(|old| text(&old["lastUpdateTime"]).parse::<Timestamp>().ok());
        let since = since
            .filter(|_| !has_progressed && reason != "NewReplicaSetAvailable")
            .unwrap_or(ctx.now);
        let passed = ctx.now.as_second().saturating_sub(since.as_second());
        if passed >= seconds || (reason == "ProgressDeadlineExceeded" && !has_progressed) {
            return (
                write(
                    false,
                    "ProgressDeadlineExceeded",
                    &about("has timed out progressing."),
                ),
                None,
            );
        }
        let mut progressing = match self.new {
            None => write(true, "NewReplicaSetCreated", "Created new replica set"),
            Some(_) => write(true, "ReplicaSetUpdated", &about("is progressing.")),
        };
        if has_progressed {
            progressing["lastUpdateTime"] = ctx.time();
        }
        let left = u64::try_from(seconds.saturating_sub(passed)).unwrap_or(0);
        (progressing, Some(Duration::from_secs(left)))
    }
}
