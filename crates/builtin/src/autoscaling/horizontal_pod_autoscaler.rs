//! `HorizontalPodAutoscaler`: defaults, validation and table cells.

use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use crate::fields::{list, number, object_mut, set_missing, text};
use crate::table::cells::{age, name};
use crate::table::moment::Now;
use crate::validation::field_checks::{require, validate_enum};

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(autoscaler: &mut Map<String, Value>) {
    let Some(spec) = object_mut(autoscaler, "spec") else {
        return;
    };
    let cpu = json!([{
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }]);
    set_missing(spec, [("minReplicas", json!(1)), ("metrics", cpu)]);
    let Some(Value::Object(behavior)) = spec.get_mut("behavior") else {
        return;
    };
    let policy =
        |type_: &str, value: i64| json!({"type": type_, "value": value, "periodSeconds": 15});
    if let Some(up) = object_mut(behavior, "scaleUp") {
        let policies = json!([policy("Pods", 4), policy("Percent", 100)]);
        set_missing(
            up,
            [
                ("stabilizationWindowSeconds", json!(0)),
                ("selectPolicy", json!("Max")),
                ("policies", policies),
            ],
        );
    }
    if let Some(down) = object_mut(behavior, "scaleDown") {
        let policies = json!([policy("Percent", 100)]);
        set_missing(
            down,
            [("selectPolicy", json!("Max")), ("policies", policies)],
        );
    }
}

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

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let least = spec["minReplicas"].as_i64();
    let most = spec["maxReplicas"].as_i64().unwrap_or_default();
    if let Some(least) = least
        && least < 1
    {
        let detail = "must be greater than or equal to 1";
        errors.push(Error::invalid(&SPEC.child("minReplicas"), least, detail));
    }
    let field = SPEC.child("maxReplicas");
    if most == 0 {
        errors.push(Error::required(&field, "must be set and greater than 0"));
    } else if most < 0 {
        let detail = "must be greater than or equal to 1";
        errors.push(Error::invalid(&field, most, detail));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(Error::invalid(&field, most, detail));
    }
    validate_scale_target(
        errors,
        &SPEC.child("scaleTargetRef"),
        &spec["scaleTargetRef"],
    );
    validate_metrics(errors, spec);
    validate_behavior(errors, &spec["behavior"]);
}

fn validate_scale_target(errors: &mut Vec<Error>, path: &Path<'_>, target: &Value) {
    for key in ["kind", "name"] {
        require(errors, &path.child(key), text(target, key));
    }
    let version = text(target, "apiVersion");
    if GroupVersion::parse(version).group.is_empty() {
        let field = path.child("apiVersion");
        let detail = "apiVersion must specify API group";
        errors.push(Error::invalid(&field, version, detail));
    }
}

fn validate_metrics(errors: &mut Vec<Error>, spec: &Value) {
    let path = SPEC.child("metrics");
    let all = list(spec, "metrics");
    for (index, metric) in all.iter().enumerate() {
        validate_metric(errors, &path.index(index), metric);
    }
    let is_outside = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
    if spec["minReplicas"] == 0 && !all.iter().any(is_outside) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(Error::forbidden(&path, detail));
    }
}

fn validate_metric(errors: &mut Vec<Error>, path: &Path<'_>, metric: &Value) {
    let type_ = text(metric, "type");
    validate_enum(errors, &path.child("type"), type_, &TYPES);
    let present: Vec<_> = SOURCES
        .iter()
        .filter(|(_, key)| metric[*key].is_object())
        .collect();
    if let Some((_, key)) = present.first() {
        validate_source(errors, &path.child(key), &metric[*key], key);
    }
    let own = SOURCES.iter().find(|(name, _)| *name == type_);
    match own {
        Some((_, key)) if !metric[*key].is_object() => {
            let detail = "must populate information for the given metric source";
            errors.push(Error::required(&path.child(key), detail));
        }
        Some(_) => {}
        None => {
            validate_enum(errors, &path.child("type"), type_, &TYPES);
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

fn validate_source(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value, key: &str) {
    let goal = &source["target"];
    let field = path.child("target");
    match key {
        "object" => {
            let field = path.child("describedObject");
            let described = &source["describedObject"];
            for key in ["kind", "name"] {
                require(errors, &field.child(key), text(described, key));
            }
            validate_metric_name(errors, path, source);
        }
        "external" | "pods" => validate_metric_name(errors, path, source),
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
    validate_target(errors, &field, goal);
    let has = |key: &str| !goal[key].is_null();
    let (average, utilization) = (
        field.child("averageValue"),
        field.child("averageUtilization"),
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

fn validate_metric_name(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    if text(&source["metric"], "name").is_empty() {
        let field = path.child("metric");
        let detail = "must specify a metric name";
        errors.push(Error::required(&field.child("name"), detail));
    }
}

fn validate_target(errors: &mut Vec<Error>, path: &Path<'_>, target: &Value) {
    let type_ = text(target, "type");
    let field = path.child("type");
    if type_.is_empty() {
        let detail = "must specify a metric target type";
        errors.push(Error::required(&field, detail));
    }
    if !matches!(type_, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(Error::invalid(&field, type_, detail));
    }
    for key in ["value", "averageValue"] {
        let amount = target[key]
            .as_str()
            .and_then(|text| Quantity::parse(text).ok());
        if amount.is_some_and(|amount| amount.is_zero() || amount.is_negative()) {
            let field = path.child(key);
            errors.push(Error::invalid(&field, &target[key], "must be positive"));
        }
    }
    if let Some(percent) = target["averageUtilization"].as_i64()
        && percent < 1
    {
        let field = path.child("averageUtilization");
        errors.push(Error::invalid(&field, percent, "must be greater than 0"));
    }
}

fn validate_behavior(errors: &mut Vec<Error>, behavior: &Value) {
    let path = SPEC.child("behavior");
    for key in ["scaleUp", "scaleDown"] {
        let rules = &behavior[key];
        if rules.is_object() {
            validate_scaling_rules(errors, &path.child(key), rules);
        }
    }
}

fn validate_scaling_rules(errors: &mut Vec<Error>, path: &Path<'_>, rules: &Value) {
    const MAX_WINDOW: i64 = 3600;
    const MAX_PERIOD: i64 = 1800;
    if let Some(window) = rules["stabilizationWindowSeconds"].as_i64() {
        let field = path.child("stabilizationWindowSeconds");
        if window < 0 {
            let detail = "must be greater than or equal to zero";
            errors.push(Error::invalid(&field, window, detail));
        }
        if window > MAX_WINDOW {
            let detail = format!("must be less than or equal to {MAX_WINDOW}");
            errors.push(Error::invalid(&field, window, detail));
        }
    }
    if let Some(policy) = rules["selectPolicy"].as_str() {
        let policies = ["Disabled", "Max", "Min"];
        validate_enum(errors, &path.child("selectPolicy"), policy, &policies);
    }
    let field = path.child("policies");
    let policies = list(rules, "policies");
    if policies.is_empty() {
        errors.push(Error::required(&field, "must specify at least one Policy"));
    }
    for (index, policy) in policies.iter().enumerate() {
        let field = field.index(index);
        validate_enum(
            errors,
            &field.child("type"),
            text(policy, "type"),
            &["Percent", "Pods"],
        );
        for key in ["value", "periodSeconds"] {
            let number = policy[key].as_i64().unwrap_or_default();
            if number <= 0 {
                let detail = "must be greater than zero";
                errors.push(Error::invalid(&field.child(key), number, detail));
            }
        }
        let period = policy["periodSeconds"].as_i64().unwrap_or_default();
        if period > MAX_PERIOD {
            let field = field.child("periodSeconds");
            let detail = format!("must be less than or equal to {MAX_PERIOD}");
            errors.push(Error::invalid(&field, period, detail));
        }
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let target = &spec["scaleTargetRef"];
    let least = spec["minReplicas"].as_i64();
    vec![
        name(object),
        format!("{}/{}", text(target, "kind"), text(target, "name")).into(),
        metrics_cell(list(spec, "metrics"), list(status, "currentMetrics")).into(),
        least
            .map_or_else(|| "<unset>".to_owned(), |least| least.to_string())
            .into(),
        number(spec, "maxReplicas").into(),
        number(status, "currentReplicas").into(),
        age(object, now),
    ]
}

/// The first two metrics as what was measured and what is wanted.
fn metrics_cell(wanted: &[Value], measured: &[Value]) -> String {
    const MOST: usize = 2;
    if wanted.is_empty() {
        return "<none>".to_owned();
    }
    let all = wanted.iter().enumerate();
    let all = all.map(|(index, metric)| {
        let measured = measured.get(index).unwrap_or(&Value::Null);
        metric_cell(metric, measured)
    });
    let all: Vec<_> = all.collect();
    let shown = all.iter().take(MOST).cloned().collect::<Vec<_>>();
    let shown = shown.join(", ");
    match all.len().checked_sub(MOST) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}

fn metric_cell(wanted: &Value, measured: &Value) -> String {
    let unknown = "<unknown>".to_owned();
    let key = match text(wanted, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&wanted[key]["target"], &measured[key]["current"]);
    let quantity = |key: &str| {
        let value = current[key].as_str().map(str::to_owned);
        match (value, current.is_object()) {
            (Some(value), _) => value,
            (None, true) if key == "value" => "0".to_owned(),
            (None, _) => unknown.clone(),
        }
    };
    let is_resource = key.to_lowercase().ends_with("resource");
    let average = text(target, "averageValue");
    match (is_resource, average) {
        (true, "") => {
            let percent = |value: &Value| value.as_i64().map(|value| format!("{value}%"));
            let current = percent(&current["averageUtilization"]).unwrap_or(unknown);
            let target = percent(&target["averageUtilization"]);
            let target = target.unwrap_or_else(|| "<auto>".to_owned());
            format!("{}: {current}/{target}", text(&wanted[key], "name"))
        }
        (true, average) => {
            let name = text(&wanted[key], "name");
            format!("{name}: {}/{average}", quantity("averageValue"))
        }
        (false, "") => format!("{}/{}", quantity("value"), text(target, "value")),
        (false, average) if key == "pods" => format!("{}/{average}", quantity("averageValue")),
        (false, average) => format!("{}/{average} (avg)", quantity("averageValue")),
    }
}
