//! `HorizontalPodAutoscalers`: there are no metrics, so they never scale.

use serde_json::{Map, Value};

use super::cache::ObjectRef;
use super::condition::Condition;
use super::object::{generation, integer, is_deleting, namespace, plural_of_controller, text};
use super::plan::{Action, Context, Plan};

pub(super) fn reconcile(scaler: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(scaler) {
        return Plan::none();
    }
    let target = &scaler["spec"]["scaleTargetRef"];
    let plural = plural_of_controller(text(&target["kind"]));
    let target = plural.and_then(|plural| {
        ctx.cache.get(&ObjectRef::new(
            plural,
            namespace(scaler),
            text(&target["name"]),
        ))
    });
    let replicas = target
        .and_then(|target| integer(&target["spec"]["replicas"]))
        .unwrap_or(0);
    let able = match target {
        Some(_) => Condition::new("AbleToScale", true).reason(
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        ),
        None => Condition::new("AbleToScale", false).reason(
            "FailedGetScale",
            "the HPA controller was unable to get the target's current scale",
        ),
    };
    let active = Condition::new("ScalingActive", false).reason(
        "FailedGetResourceMetric",
        "workloads are simulated, there are no metrics",
    );
    let conditions = [able, active].map(|wanted| wanted.for_object(scaler, ctx, &[]));
    let mut status = Map::new();
    let observed = match generation(scaler) {
        0 => Value::Null,
        generation => generation.into(),
    };
    status.insert("observedGeneration".to_owned(), observed);
    status.insert("currentReplicas".to_owned(), replicas.into());
    status.insert("desiredReplicas".to_owned(), replicas.into());
    status.insert("conditions".to_owned(), conditions.to_vec().into());
    Plan::now(Action::update_status(
        "horizontalpodautoscalers",
        scaler,
        &status,
    ))
}
