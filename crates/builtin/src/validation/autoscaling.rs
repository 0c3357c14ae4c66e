//! Autoscalers.

use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use super::field_checks::{list, one_of, required, text};

const SPEC: Path<'static> = Path::root("spec");
const TYPES: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];
/// The field of each type of metric, in the order in which they are looked at.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

pub(super) fn check(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let least = spec["minReplicas"].as_i64();
    let most = spec["maxReplicas"].as_i64().unwrap_or_default();
    if let Some(least) = least
        && least < 1
    {
        let detail = "must be greater than or equal to 1";
        errors.push(Error::invalid(&SPEC.child("minReplicas"), least, detail));
    }
    let place = SPEC.child("maxReplicas");
    if most == 0 {
        errors.push(Error::required(&place, "must be set and greater than 0"));
    } else if most < 0 {
        let detail = "must be greater than or equal to 1";
        errors.push(Error::invalid(&place, most, detail));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(Error::invalid(&place, most, detail));
    }
    target(
        errors,
        &SPEC.child("scaleTargetRef"),
        &spec["scaleTargetRef"],
    );
    metrics(errors, spec);
    behavior(errors, &spec["behavior"]);
}

fn target(errors: &mut Vec<Error>, path: &Path<'_>, target: &Value) {
    for key in ["kind", "name"] {
        required(errors, &path.child(key), text(target, key));
    }
    let version = text(target, "apiVersion");
    if GroupVersion::parse(version).group.is_empty() {
        let place = path.child("apiVersion");
        let detail = "apiVersion must specify API group";
        errors.push(Error::invalid(&place, version, detail));
    }
}

fn metrics(errors: &mut Vec<Error>, spec: &Value) {
    let path = SPEC.child("metrics");
    let all = list(spec, "metrics");
    for (index, metric) in all.iter().enumerate() {
        check_metric(errors, &path.index(index), metric);
    }
    let is_outside = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
    if spec["minReplicas"] == 0 && !all.iter().any(is_outside) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(Error::forbidden(&path, detail));
    }
}

fn check_metric(errors: &mut Vec<Error>, path: &Path<'_>, metric: &Value) {
    let type_ = text(metric, "type");
    one_of(errors, &path.child("type"), type_, &TYPES);
    let present: Vec<_> = SOURCES
        .iter()
        .filter(|(_, key)| metric[*key].is_object())
        .collect();
    if let Some((_, key)) = present.first() {
        source(errors, &path.child(key), &metric[*key], key);
    }
    let own = SOURCES.iter().find(|(name, _)| *name == type_);
    match own {
        Some((_, key)) if !metric[*key].is_object() => {
            let detail = "must populate information for the given metric source";
            errors.push(Error::required(&path.child(key), detail));
        }
        Some(_) => {}
        None => {
            one_of(errors, &path.child("type"), type_, &TYPES);
        }
    }
    if present.len() != 1 {
        for (name, key) in present {
            if *name != type_ {
                let detail = "must populate the given metric source only";
                errors.push(Error::forbidden(&path.child(key), detail));
            }
        }
    }
}

fn source(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value, key: &str) {
    let goal = &source["target"];
    let place = path.child("target");
    match key {
        "object" => {
            let place = path.child("describedObject");
            let described = &source["describedObject"];
            for key in ["kind", "name"] {
                required(errors, &place.child(key), text(described, key));
            }
            metric_name(errors, path, source);
        }
        "external" | "pods" => metric_name(errors, path, source),
        _ => {
            if text(source, "name").is_empty() {
                let detail = "must specify a resource name";
                errors.push(Error::required(&path.child("name"), detail));
            }
            if key == "containerResource" && text(source, "container").is_empty() {
                let detail = "must specify a container";
                errors.push(Error::required(&path.child("container"), detail));
            }
        }
    }
    check_target(errors, &place, goal);
    let has = |key: &str| !goal[key].is_null();
    let (average, utilization) = (
        place.child("averageValue"),
        place.child("averageUtilization"),
    );
    match key {
        "object" if !has("value") && !has("averageValue") => {
            let detail = "must set either a target value or averageValue";
            errors.push(Error::required(&average, detail));
        }
        "external" if !has("value") && !has("averageValue") => {
            let detail = "must set either a target value for metric or a per-pod target";
            errors.push(Error::required(&average, detail));
        }
        "pods" if !has("averageValue") => {
            let detail = "must specify a positive target averageValue";
            errors.push(Error::required(&average, detail));
        }
        "resource" | "containerResource" => {
            match (has("averageUtilization"), has("averageValue")) {
                (false, false) => {
                    let detail = "must set either a target raw value or a target utilization";
                    errors.push(Error::required(&utilization, detail));
                }
                (true, true) => {
                    let detail = "may not set both a target raw value and a target utilization";
                    errors.push(Error::forbidden(&average, detail));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn metric_name(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    if text(&source["metric"], "name").is_empty() {
        let place = path.child("metric");
        let detail = "must specify a metric name";
        errors.push(Error::required(&place.child("name"), detail));
    }
}

fn check_target(errors: &mut Vec<Error>, path: &Path<'_>, target: &Value) {
    let type_ = text(target, "type");
    let place = path.child("type");
    if type_.is_empty() {
        let detail = "must specify a metric target type";
        errors.push(Error::required(&place, detail));
    }
    if !matches!(type_, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(Error::invalid(&place, type_, detail));
    }
    for key in ["value", "averageValue"] {
        let amount = target[key]
            .as_str()
            .and_then(|text| Quantity::parse(text).ok());
        if amount.is_some_and(|amount| amount.is_zero() || amount.is_negative()) {
            let place = path.child(key);
            errors.push(Error::invalid(&place, &target[key], "must be positive"));
        }
    }
    if let Some(percent) = target["averageUtilization"].as_i64()
        && percent < 1
    {
        let place = path.child("averageUtilization");
        errors.push(Error::invalid(&place, percent, "must be greater than 0"));
    }
}

fn behavior(errors: &mut Vec<Error>, behavior: &Value) {
    let path = SPEC.child("behavior");
    for key in ["scaleUp", "scaleDown"] {
        let rules = &behavior[key];
        if rules.is_object() {
            check_rules(errors, &path.child(key), rules);
        }
    }
}

fn check_rules(errors: &mut Vec<Error>, path: &Path<'_>, rules: &Value) {
    const MAX_WINDOW: i64 = 3600;
    const MAX_PERIOD: i64 = 1800;
    if let Some(window) = rules["stabilizationWindowSeconds"].as_i64() {
        let place = path.child("stabilizationWindowSeconds");
        if window < 0 {
            let detail = "must be greater than or equal to zero";
            errors.push(Error::invalid(&place, window, detail));
        }
        if window > MAX_WINDOW {
            let detail = format!("must be less than or equal to {MAX_WINDOW}");
            errors.push(Error::invalid(&place, window, detail));
        }
    }
    if let Some(policy) = rules["selectPolicy"].as_str() {
        let policies = ["Disabled", "Max", "Min"];
        one_of(errors, &path.child("selectPolicy"), policy, &policies);
    }
    let place = path.child("policies");
    let policies = list(rules, "policies");
    if policies.is_empty() {
        errors.push(Error::required(&place, "must specify at least one Policy"));
    }
    for (index, policy) in policies.iter().enumerate() {
        let place = place.index(index);
        one_of(
            errors,
            &place.child("type"),
            text(policy, "type"),
            &["Percent", "Pods"],
        );
        for key in ["value", "periodSeconds"] {
            let number = policy[key].as_i64().unwrap_or_default();
            if number <= 0 {
                let detail = "must be greater than zero";
                errors.push(Error::invalid(&place.child(key), number, detail));
            }
        }
        let period = policy["periodSeconds"].as_i64().unwrap_or_default();
        if period > MAX_PERIOD {
            let place = place.child("periodSeconds");
            let detail = format!("must be less than or equal to {MAX_PERIOD}");
            errors.push(Error::invalid(&place, period, detail));
        }
    }
}
