//! `PodDisruptionBudgets`: how many of the selected pods may be disrupted.

use serde_json::{Map, Value, json};

use super::cache::ObjectRef;
use super::condition::Condition;
use super::object::{
    generation, insert_counts, is_active, is_deleting, is_ready, scaled_value, selects,
};
use super::plan::{Action, Context, Plan};

pub(super) fn reconcile(budget: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(budget) {
        return Plan::none();
    }
    let id = ObjectRef::of("poddisruptionbudgets", budget);
    let pods = ctx.cache.list("pods", &id.namespace);
    let pods = pods.filter(|pod| {
        is_active(pod) && selects(&budget["spec"]["selector"], &pod["metadata"]["labels"])
    });
    let (mut expected, mut healthy) = (0_i64, 0_i64);
    for pod in pods {
        expected = expected.saturating_add(1);
        healthy = healthy.saturating_add(i64::from(is_ready(pod)));
    }
    let least = match scaled_value(&budget["spec"]["maxUnavailable"], expected, true) {
        Some(most) => expected.saturating_sub(most).max(0),
        None => scaled_value(&budget["spec"]["minAvailable"], expected, true).unwrap_or(1),
    };
    let allowed = if expected == 0 {
        0
    } else {
        healthy.saturating_sub(least).max(0)
    };
    let condition = if allowed > 0 {
        Condition::new("DisruptionAllowed", true).reason("SufficientPods", "")
    } else {
        Condition::new("DisruptionAllowed", false).reason("InsufficientPods", "")
    };
    let mut condition = condition.for_object(budget, ctx, &[]);
    condition["observedGeneration"] = generation(budget).into();
    if condition.get("message").is_none() {
        condition["message"] = "".into();
    }
    let mut status = Map::new();
    insert_counts(
        &mut status,
        [
            ("observedGeneration", generation(budget)),
            ("expectedPods", expected),
            ("currentHealthy", healthy),
            ("desiredHealthy", least),
            ("disruptionsAllowed", allowed),
        ],
    );
    status.insert("conditions".to_owned(), json!([condition]));
    Plan::now(Action::update_status(
        "poddisruptionbudgets",
        budget,
        &status,
    ))
}
