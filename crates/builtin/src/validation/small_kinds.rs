//! Kinds with few rules of their own.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{
    at_most_all, count_or_percent, each, list, network, not_negative, one_of_if_set, required,
    text, texts, unchanged,
};
use super::selector;

const SPEC: Path<'static> = Path::root("spec");

pub(super) fn node(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    // The real server names the metadata here.
    let path = Path::root("metadata");
    let path = path.child("taints");
    for (index, taint) in list(spec, "taints").iter().enumerate() {
        let place = path.index(index);
        let key = text(taint, "key");
        each(errors, &place.child("key"), key, syntax::label_key(key));
        let value = text(taint, "value");
        each(
            errors,
            &place.child("value"),
            value,
            syntax::label_value(value),
        );
        let effect = text(taint, "effect");
        if required(errors, &place.child("effect"), effect) {
            let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            one_of_if_set(errors, &place.child("effect"), &taint["effect"], &effects);
        }
    }
    let place = SPEC.child("podCIDRs");
    for (index, range) in texts(list(spec, "podCIDRs")).enumerate() {
        network(errors, &place.index(index), range);
    }
}

pub(super) fn disruption_budget(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let policy = &spec["unhealthyPodEvictionPolicy"];
        let selector = &spec["selector"];
        let shown = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{selector},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}"
        );
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(Error::invalid(&SPEC, BadValue::verbatim(shown), detail));
    }
    for key in ["minAvailable", "maxUnavailable"] {
        let value = &spec[key];
        if !value.is_null() {
            count_or_percent(errors, &SPEC.child(key), value);
            at_most_all(errors, &SPEC.child(key), value);
        }
    }
    selector::check(errors, &SPEC.child("selector"), &spec["selector"]);
    let place = SPEC.child("unhealthyPodEvictionPolicy");
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = &spec["unhealthyPodEvictionPolicy"];
    one_of_if_set(errors, &place, policy, &policies);
}

pub(super) fn storage_class(object: &Value, errors: &mut Vec<Error>) {
    let provisioner = text(object, "provisioner");
    let place = Path::root("provisioner");
    if required(errors, &place, provisioner) {
        let lower = provisioner.to_lowercase();
        each(errors, &place, provisioner, syntax::label_key(&lower));
    }
    if object["parameters"].get("").is_some() {
        let detail = "field can not be empty.";
        errors.push(Error::invalid(&Path::root("parameters"), "", detail));
    }
    let place = Path::root("reclaimPolicy");
    let policies = ["Delete", "Retain"];
    one_of_if_set(errors, &place, &object["reclaimPolicy"], &policies);
    let place = Path::root("volumeBindingMode");
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of_if_set(errors, &place, &object["volumeBindingMode"], &modes);
}

pub(super) fn storage_class_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    for key in [
        "parameters",
        "provisioner",
        "reclaimPolicy",
        "volumeBindingMode",
    ] {
        unchanged(errors, &Path::root(key), &new[key], &old[key]);
    }
}

pub(super) fn lease(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64()
        && seconds <= 0
    {
        let place = SPEC.child("leaseDurationSeconds");
        errors.push(Error::invalid(&place, seconds, "must be greater than 0"));
    }
    let place = SPEC.child("leaseTransitions");
    not_negative(errors, &place, &spec["leaseTransitions"]);
}

pub(super) fn priority_class(object: &Value, errors: &mut Vec<Error>) {
    const MOST: i64 = 1_000_000_000;
    let name = text(&object["metadata"], "name");
    let is_known = matches!(name, "system-cluster-critical" | "system-node-critical");
    if name.starts_with("system-") && !is_known {
        let place = Path::root("metadata");
        let detail = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
        );
        errors.push(Error::forbidden(&place.child("name"), detail));
    } else if !is_known && object["value"].as_i64().unwrap_or_default() > MOST {
        let detail = format!("maximum allowed value of a user defined priority is {MOST}");
        errors.push(Error::forbidden(&Path::root("value"), detail));
    }
    let place = Path::root("preemptionPolicy");
    let policies = ["PreemptLowerPriority", "Never"];
    one_of_if_set(errors, &place, &object["preemptionPolicy"], &policies);
}

pub(super) fn priority_class_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    if new["value"] != old["value"] {
        let detail = "may not be changed in an update.";
        errors.push(Error::forbidden(&Path::root("value"), detail));
    }
    let key = "preemptionPolicy";
    unchanged(errors, &Path::root(key), &new[key], &old[key]);
}

pub(super) fn ingress_class(object: &Value, errors: &mut Vec<Error>) {
    let controller = text(&object["spec"], "controller");
    let place = SPEC.child("controller");
    if !required(errors, &place, controller) {
        return;
    }
    let parts = controller.split_once('/');
    let parts = parts.filter(|(domain, path)| !domain.is_empty() && !path.is_empty());
    if let Some((domain, _)) = parts {
        each(errors, &place, domain, syntax::dns1123_subdomain(domain));
    } else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(Error::invalid(&place, controller, detail));
    }
}

pub(super) fn ingress_class_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let place = SPEC.child("controller");
    let key = "controller";
    unchanged(errors, &place, &new["spec"][key], &old["spec"][key]);
}

pub(super) fn api_service(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let name = text(&object["metadata"], "name");
    let expected = format!("{}.{}", text(spec, "version"), text(spec, "group"));
    if name != expected {
        let place = Path::root("metadata");
        let detail = format!("must be `spec.version+\".\"+spec.group`: \"{expected}\"");
        errors.push(Error::invalid(&place.child("name"), name, detail));
    }
    for (key, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let number = spec[key].as_i64().unwrap_or_default();
        if number <= 0 || number > most {
            let detail = format!("must be positive and less than {most}");
            errors.push(Error::invalid(&SPEC.child(key), number, detail));
        }
    }
}
