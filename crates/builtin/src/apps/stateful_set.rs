//! StatefulSet: defaults, validation and table cells.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::{Map, Value, json};

use super::pod_controller;
use crate::core::{persistent_volume_claim, pod};
use crate::fields::{items_mut, list, object_mut, set_missing, str_field, text};
use crate::table::cells::{age, containers, name};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    push_invalid, validate_enum, validate_nonnegative, validate_nonnegative_fields,
};
use crate::validation::label_selector;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(set: &mut Map<String, Value>) {
    let Some(spec) = object_mut(set, "spec") else {
        return;
    };
    set_missing(
        spec,
        [
            ("podManagementPolicy", json!("OrderedReady")),
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
        ],
    );
    if let Some(retention) = object_mut(spec, "persistentVolumeClaimRetentionPolicy") {
        set_missing(
            retention,
            [
                ("whenDeleted", json!("Retain")),
                ("whenScaled", json!("Retain")),
            ],
        );
    }
    for claim in items_mut(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion".to_owned(), json!("v1"));
        claim.insert("kind".to_owned(), json!("PersistentVolumeClaim"));
    }
    let Some(strategy) = object_mut(spec, "updateStrategy") else {
        return;
    };
    if !strategy.contains_key("type") {
        strategy.insert("type".to_owned(), json!("RollingUpdate"));
        object_mut(strategy, "rollingUpdate");
    }
    let is_rolling = str_field(strategy, "type") == "RollingUpdate";
    if let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate")
        && is_rolling
    {
        set_missing(rolling, [("partition", json!(0))]);
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let field = SPEC.child("podManagementPolicy");
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(Error::invalid(&field, policy, detail));
    }
    validate_strategy(errors, &spec["updateStrategy"]);
    let field = SPEC.child("persistentVolumeClaimRetentionPolicy");
    for key in ["whenDeleted", "whenScaled"] {
        let policy = text(&spec["persistentVolumeClaimRetentionPolicy"], key);
        validate_enum(errors, &field.child(key), policy, &["Retain", "Delete"]);
    }
    let field = SPEC.child("volumeClaimTemplates");
    for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        let field = field.index(index);
        persistent_volume_claim::validate_spec(errors, &field.child("spec"), &claim["spec"]);
    }
    validate_nonnegative_fields(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    let service = text(spec, "serviceName");
    if !service.is_empty() {
        let field = SPEC.child("serviceName");
        push_invalid(errors, &field, service, syntax::dns1123_label(service));
    }
    let selector = &spec["selector"];
    pod_controller::validate_selector(errors, selector, "statefulset");
    let template = template_with_claims(spec);
    if selector.is_null() || !label_selector::is_empty(selector) {
        pod_controller::validate_labels_match(errors, selector, &template);
    }
    pod::validate_template(errors, &SPEC.child("template"), &template);
    pod_controller::validate_always_restarts(errors, &template, "StatefulSet");
}

/// The template with a volume for each claim template.
fn template_with_claims(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    if let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) {
        pod.remove("hostname");
        pod.remove("subdomain");
        let claims = list(spec, "volumeClaimTemplates");
        let name_of = |claim: &Value| claim["metadata"]["name"].clone();
        let names: Vec<_> = claims.iter().map(name_of).collect();
        let own = pod.get("volumes").and_then(Value::as_array).cloned();
        let own = own.unwrap_or_default().into_iter();
        let volumes: Vec<_> = names
            .iter()
            .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
            .chain(own.filter(|volume| !names.contains(&volume["name"])))
            .collect();
        pod.insert("volumes".to_owned(), volumes.into());
    }
    template
}

fn validate_strategy(errors: &mut Vec<Error>, strategy: &Value) {
    let path = SPEC.child("updateStrategy");
    let rolling = &strategy["rollingUpdate"];
    let field = path.child("rollingUpdate");
    match text(strategy, "type") {
        "RollingUpdate" => {
            validate_nonnegative(errors, &field.child("partition"), &rolling["partition"]);
        }
        "OnDelete" => {
            if rolling.is_object() {
                let partition = rolling["partition"].as_i64().unwrap_or_default();
                let most = &rolling["maxUnavailable"];
                let bad_value = format!("{{\"Partition\":{partition},\"MaxUnavailable\":{most}}}");
                errors.push(Error::invalid(
                    &field,
                    BadValue::verbatim(bad_value),
                    "only allowed for updateStrategy 'RollingUpdate'",
                ));
            }
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(Error::invalid(
                &path,
                pod_controller::strategy_bad_value(strategy),
                detail,
            ));
        }
    }
}

pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    const MUTABLE: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "revisionHistoryLimit",
    ];
    let mut rest = [new["spec"].clone(), old["spec"].clone()];
    for spec in &mut rest {
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|key, _| !MUTABLE.contains(&key.as_str()));
        }
    }
    if rest[0] != rest[1] {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.push(Error::forbidden(&SPEC, detail));
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        pod_controller::ready_cell(status, spec),
        age(object, now),
        names,
        images,
    ]
}
