//! Objects that only watch others: disruption budgets and autoscalers. They say what they see.

use serde_json::{Map, Value, json};

use super::conditions::Wanted;
use super::object::{
    amount, difference, generation, integer, is_active, is_deleting, is_ready, name, namespace,
    selects, text,
};
use super::step::{Action, Step, View};
use super::world::Id;

/// A `PodDisruptionBudget`: how many of its pods could go.
pub(super) fn budget_next(budget: &Value, view: &View<'_>) -> Step {
    if is_deleting(budget) {
        return Step::nothing();
    }
    let id = Id::of("poddisruptionbudgets", budget);
    let pods = view.world.list("pods", &id.namespace);
    let pods = pods.filter(|pod| {
        is_active(pod) && selects(&budget["spec"]["selector"], &pod["metadata"]["labels"])
    });
    let (mut expected, mut healthy) = (0_i64, 0_i64);
    for pod in pods {
        expected += 1;
        healthy += i64::from(is_ready(pod));
    }
    let least = match amount(&budget["spec"]["maxUnavailable"], expected, true) {
        Some(most) => (expected - most).max(0),
        None => amount(&budget["spec"]["minAvailable"], expected, true).unwrap_or(1),
    };
    let allowed = if expected == 0 {
        0
    } else {
        (healthy - least).max(0)
    };
    let condition = if allowed > 0 {
        Wanted::new("DisruptionAllowed", true).because("SufficientPods", "")
    } else {
        Wanted::new("DisruptionAllowed", false).because("InsufficientPods", "")
    };
    let mut condition = condition.on(budget, view, &[]);
    condition["observedGeneration"] = generation(budget).into();
    if condition.get("message").is_none() {
        condition["message"] = "".into();
    }
    let mut status = Map::new();
    for (key, number) in [
        ("observedGeneration", generation(budget)),
        ("expectedPods", expected),
        ("currentHealthy", healthy),
        ("desiredHealthy", least),
        ("disruptionsAllowed", allowed),
    ] {
        status.insert(key.to_owned(), number.into());
    }
    status.insert("conditions".to_owned(), json!([condition]));
    let change = difference(&budget["status"], &status);
    Step::now(
        change
            .map(|change| Action::Status(id, change))
            .into_iter()
            .collect::<Vec<_>>(),
    )
}

/// A `HorizontalPodAutoscaler`: there are no metrics, so it never scales.
pub(super) fn autoscaler_next(scaler: &Value, view: &View<'_>) -> Step {
    if is_deleting(scaler) {
        return Step::nothing();
    }
    let target = &scaler["spec"]["scaleTargetRef"];
    let plural = super::object::controlling_plural(text(&target["kind"]));
    let target = plural.and_then(|plural| {
        view.world
            .get(&Id::new(plural, namespace(scaler), text(&target["name"])))
    });
    let replicas = target
        .and_then(|target| integer(&target["spec"]["replicas"]))
        .unwrap_or(0);
    let able = match target {
        Some(_) => Wanted::new("AbleToScale", true).because(
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        ),
        None => Wanted::new("AbleToScale", false).because(
            "FailedGetScale",
            "the HPA controller was unable to get the target's current scale",
        ),
    };
    let active = Wanted::new("ScalingActive", false).because(
        "FailedGetResourceMetric",
        "workloads are simulated, there are no metrics",
    );
    let conditions = [able, active].map(|wanted| wanted.on(scaler, view, &[]));
    let mut status = Map::new();
    let observed = match generation(scaler) {
        0 => Value::Null,
        generation => generation.into(),
    };
    status.insert("observedGeneration".to_owned(), observed);
    status.insert("currentReplicas".to_owned(), replicas.into());
    status.insert("desiredReplicas".to_owned(), replicas.into());
    status.insert("conditions".to_owned(), conditions.to_vec().into());
    let id = Id::new("horizontalpodautoscalers", namespace(scaler), name(scaler));
    let change = difference(&scaler["status"], &status);
    Step::now(
        change
            .map(|change| Action::Status(id, change))
            .into_iter()
            .collect::<Vec<_>>(),
    )
}
