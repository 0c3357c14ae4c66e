//! Controllers that keep Pods running.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::{Value, json};

use super::field_checks::{
    at_most_all, count_or_percent, each, list, none_negative, not_negative, one_of, text,
};
use super::{pod, selector, volume_claim};

const SPEC: Path<'static> = Path::root("spec");

pub(super) fn deployment(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    not_negative(errors, &SPEC.child("replicas"), &spec["replicas"]);
    selector_and_template(errors, spec, "deployment", "ReplicaSet");
    strategy(errors, &SPEC.child("strategy"), &spec["strategy"]);
    none_negative(
        errors,
        &SPEC,
        spec,
        &["minReadySeconds", "revisionHistoryLimit"],
    );
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64() {
        let place = SPEC.child("progressDeadlineSeconds");
        not_negative(errors, &place, &spec["progressDeadlineSeconds"]);
        if deadline <= spec["minReadySeconds"].as_i64().unwrap_or_default() {
            let detail = "must be greater than minReadySeconds";
            errors.push(Error::invalid(&place, deadline, detail));
        }
    }
}

pub(super) fn replica_set(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    none_negative(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    selector_and_template(errors, spec, "deployment", "ReplicaSet");
}

/// The selector must select the template's labels, and the template must be of Pods that always run.
fn selector_and_template(errors: &mut Vec<Error>, spec: &Value, of: &str, owner: &str) {
    let place = SPEC.child("selector");
    let chosen = &spec["selector"];
    let before = errors.len();
    if chosen.is_object() {
        selector::check(errors, &place, chosen);
        if selector::is_empty(chosen) {
            let detail = format!("empty selector is invalid for {of}");
            errors.push(Error::invalid(&place, selector::shown(chosen), detail));
        }
    } else {
        errors.push(Error::required(&place, ""));
    }
    let is_wrong = errors.len() > before && chosen.is_object() && !selector::is_empty(chosen);
    if is_wrong {
        let detail = "invalid label selector";
        errors.push(Error::invalid(&place, selector::shown(chosen), detail));
        return;
    }
    let template = &spec["template"];
    if chosen.is_null() || !selector::is_empty(chosen) {
        labels_match(errors, chosen, template);
    }
    let place = SPEC.child("template");
    pod::template(errors, &place, template);
    always_running(errors, template, owner);
}

fn labels_match(errors: &mut Vec<Error>, chosen: &Value, template: &Value) {
    let labels = &template["metadata"]["labels"];
    if selector::selects(chosen, labels) != Some(true) {
        let template = SPEC.child("template");
        let metadata = template.child("metadata");
        errors.push(Error::invalid(
            &metadata.child("labels"),
            labels,
            "`selector` does not match template `labels`",
        ));
    }
}

fn always_running(errors: &mut Vec<Error>, template: &Value, owner: &str) {
    let place = SPEC.child("template");
    let place = place.child("spec");
    let policy = text(&template["spec"], "restartPolicy");
    // What is no policy at all has been told already.
    if matches!(policy, "OnFailure" | "Never") {
        one_of(errors, &place.child("restartPolicy"), policy, &["Always"]);
    }
    if template["spec"]["activeDeadlineSeconds"].is_number() {
        let detail = format!("activeDeadlineSeconds in {owner} is not Supported");
        let place = place.child("activeDeadlineSeconds");
        errors.push(Error::forbidden(&place, detail));
    }
}

fn strategy(errors: &mut Vec<Error>, path: &Path<'_>, strategy: &Value) {
    let rolling = &strategy["rollingUpdate"];
    let place = path.child("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if rolling.is_object() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(Error::forbidden(&place, detail));
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            let on_unavailable = place.child("maxUnavailable");
            count_or_percent(errors, &on_unavailable, unavailable);
            count_or_percent(errors, &place.child("maxSurge"), surge);
            if is_nothing(unavailable) && is_nothing(surge) {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.push(Error::invalid(&on_unavailable, unavailable, detail));
            }
            at_most_all(errors, &on_unavailable, unavailable);
        }
        _ => {
            let supported = ["Recreate", "RollingUpdate"];
            errors.push(Error::not_supported(path, shown(strategy), &supported));
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    *value == 0 || *value == "0%"
}

/// A strategy in the inner form that the real server shows.
fn shown(strategy: &Value) -> BadValue {
    BadValue::verbatim(format!(
        "{{\"Type\":{},\"RollingUpdate\":{}}}",
        strategy["type"], strategy["rollingUpdate"]
    ))
}

pub(super) fn daemon_set(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let template = &spec["template"];
    selector::check(errors, &SPEC.child("selector"), &spec["selector"]);
    labels_match(errors, &spec["selector"], template);
    if spec["selector"].is_object() && selector::is_empty(&spec["selector"]) {
        let detail = "empty selector is invalid for daemonset";
        let shown = selector::shown(&spec["selector"]);
        errors.push(Error::invalid(&SPEC.child("selector"), shown, detail));
    }
    let place = SPEC.child("template");
    pod::template(errors, &place, template);
    always_running(errors, template, "DaemonSet");
    none_negative(errors, &SPEC, spec, &["minReadySeconds"]);
    daemon_strategy(errors, &spec["updateStrategy"]);
    let place = SPEC.child("revisionHistoryLimit");
    not_negative(errors, &place, &spec["revisionHistoryLimit"]);
}

fn daemon_strategy(errors: &mut Vec<Error>, strategy: &Value) {
    let path = SPEC.child("updateStrategy");
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let place = path.child("rollingUpdate");
            let rolling = &strategy["rollingUpdate"];
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            count_or_percent(errors, &place.child("maxUnavailable"), unavailable);
            at_most_all(errors, &place.child("maxUnavailable"), unavailable);
            count_or_percent(errors, &place.child("maxSurge"), surge);
            at_most_all(errors, &place.child("maxSurge"), surge);
            if !is_nothing(unavailable) && !is_nothing(surge) && !surge.is_null() {
                let detail = "may not be set when maxUnavailable is non-zero";
                errors.push(Error::invalid(&place.child("maxSurge"), surge, detail));
            }
            if is_nothing(unavailable) && (is_nothing(surge) || surge.is_null()) {
                let detail = "cannot be 0 when maxSurge is 0";
                errors.push(Error::required(&place.child("maxUnavailable"), detail));
            }
        }
        _ => {
            let supported = ["RollingUpdate", "OnDelete"];
            errors.push(Error::not_supported(&path, shown(strategy), &supported));
        }
    }
}

pub(super) fn stateful_set(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let place = SPEC.child("podManagementPolicy");
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(Error::invalid(&place, policy, detail));
    }
    stateful_strategy(errors, &spec["updateStrategy"]);
    let place = SPEC.child("persistentVolumeClaimRetentionPolicy");
    for key in ["whenDeleted", "whenScaled"] {
        let policy = text(&spec["persistentVolumeClaimRetentionPolicy"], key);
        one_of(errors, &place.child(key), policy, &["Retain", "Delete"]);
    }
    let place = SPEC.child("volumeClaimTemplates");
    for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        let place = place.index(index);
        volume_claim::claim_spec(errors, &place.child("spec"), &claim["spec"]);
    }
    none_negative(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    let service = text(spec, "serviceName");
    if !service.is_empty() {
        let place = SPEC.child("serviceName");
        each(errors, &place, service, syntax::dns1123_label(service));
    }
    let chosen = &spec["selector"];
    let place = SPEC.child("selector");
    if chosen.is_object() {
        selector::check(errors, &place, chosen);
        if selector::is_empty(chosen) {
            let detail = "empty selector is invalid for statefulset";
            errors.push(Error::invalid(&place, selector::shown(chosen), detail));
        }
    } else {
        errors.push(Error::required(&place, ""));
    }
    let template = with_claims(spec);
    if chosen.is_null() || !selector::is_empty(chosen) {
        labels_match(errors, chosen, &template);
    }
    pod::template(errors, &SPEC.child("template"), &template);
    always_running(errors, &template, "StatefulSet");
}

/// The template with a volume for each claim that is made for its Pods.
fn with_claims(spec: &Value) -> Value {
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

fn stateful_strategy(errors: &mut Vec<Error>, strategy: &Value) {
    let path = SPEC.child("updateStrategy");
    let rolling = &strategy["rollingUpdate"];
    let place = path.child("rollingUpdate");
    match text(strategy, "type") {
        "RollingUpdate" => {
            not_negative(errors, &place.child("partition"), &rolling["partition"]);
        }
        "OnDelete" => {
            if rolling.is_object() {
                let partition = rolling["partition"].as_i64().unwrap_or_default();
                let most = &rolling["maxUnavailable"];
                let shown = format!("{{\"Partition\":{partition},\"MaxUnavailable\":{most}}}");
                errors.push(Error::invalid(
                    &place,
                    BadValue::verbatim(shown),
                    "only allowed for updateStrategy 'RollingUpdate'",
                ));
            }
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(Error::invalid(&path, shown(strategy), detail));
        }
    }
}

pub(super) fn replication_controller(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    none_negative(errors, &SPEC, spec, &["minReadySeconds"]);
    let chosen = &spec["selector"];
    if chosen.as_object().is_none_or(serde_json::Map::is_empty) {
        errors.push(Error::required(&SPEC.child("selector"), ""));
    }
    none_negative(errors, &SPEC, spec, &["replicas"]);
    let template = &spec["template"];
    if template.is_null() {
        errors.push(Error::required(&SPEC.child("template"), ""));
        return;
    }
    labels_match(errors, &json!({"matchLabels": chosen}), template);
    pod::template(errors, &SPEC.child("template"), template);
    always_running(errors, template, "ReplicationController");
}

pub(super) fn pod_template(object: &Value, errors: &mut Vec<Error>) {
    pod::template(errors, &Path::root("template"), &object["template"]);
}

/// What a controller selects cannot be changed: its Pods would be lost.
pub(super) fn selector_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    if new != old {
        let place = SPEC.child("selector");
        let shown = selector::shown(new);
        errors.push(Error::invalid(&place, shown, "field is immutable"));
    }
}

pub(super) fn stateful_set_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
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
