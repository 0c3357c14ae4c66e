//! `HorizontalPodAutoscaler`: `autoscaling/v1` only has the CPU utilization. As in kube-apiserver, annotations carry all other
//! fields, so that a round trip through `v1` is lossless. The order of keys in annotations may differ from kube-apiserver.

use serde_json::{Map, Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const ANNOTATIONS: [&str; 4] = [METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS];

const DEFAULT_UTILIZATION: i64 = 80;

/// The paths of the fields of a metric in `v2` and in `v1`.
type FieldPaths = &'static [(&'static str, &'static str)];

/// The types of metric sources with the paths of their fields.
const SOURCES: &[(&str, FieldPaths)] = &[
    (
        "object",
        &[
            ("describedObject", "target"),
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("target.value", "targetValue"),
            ("target.averageValue", "averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("target.averageValue", "targetAverageValue"),
        ],
    ),
    (
        "resource",
        &[
            ("name", "name"),
            ("target.averageUtilization", "targetAverageUtilization"),
            ("target.averageValue", "targetAverageValue"),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name"),
            ("container", "container"),
            ("target.averageUtilization", "targetAverageUtilization"),
            ("target.averageValue", "targetAverageValue"),
        ],
    ),
    (
        "external",
        &[
            ("metric.name", "metricName"),
            ("metric.selector", "metricSelector"),
            ("target.value", "targetValue"),
            ("target.averageValue", "targetAverageValue"),
        ],
    ),
];

/// The same for metric statuses.
const STATUSES: &[(&str, FieldPaths)] = &[
    (
        "object",
        &[
            ("describedObject", "target"),
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("current.value", "currentValue"),
            ("current.averageValue", "averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("current.averageValue", "currentAverageValue"),
        ],
    ),
    (
        "resource",
        &[
            ("name", "name"),
            ("current.averageUtilization", "currentAverageUtilization"),
            ("current.averageValue", "currentAverageValue"),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name"),
            ("container", "container"),
            ("current.averageUtilization", "currentAverageUtilization"),
            ("current.averageValue", "currentAverageValue"),
        ],
    ),
    (
        "external",
        &[
            ("metric.name", "metricName"),
            ("metric.selector", "metricSelector"),
            ("current.value", "currentValue"),
            ("current.averageValue", "currentAverageValue"),
        ],
    ),
];

/// Fields that are required in `v1`.
const REQUIRED_IN_V1: &[(&str, &str)] = &[
    ("object", "targetValue"),
    ("pods", "targetAverageValue"),
    ("object", "currentValue"),
    ("pods", "currentAverageValue"),
    ("resource", "currentAverageValue"),
    ("containerResource", "currentAverageValue"),
    ("external", "currentValue"),
];

pub(super) fn to_v1(autoscaler: &mut Value) {
    take_annotations(autoscaler);
    let metrics = take_list(autoscaler, "spec", "metrics");
    let utilization = metrics.iter().find_map(cpu_utilization).cloned();
    let others: Vec<_> = metrics
        .iter()
        .filter(|metric| cpu_utilization(metric).is_none())
        .map(|metric| metric_to_v1(metric, SOURCES))
        .collect();
    let behavior = take(autoscaler, "spec", "behavior");
    let current = take_list(autoscaler, "status", "currentMetrics");
    let measured = current.iter().rev().find_map(measured_cpu).cloned();
    let conditions = take_list(autoscaler, "status", "conditions");
    if let Some(utilization) = utilization {
        put(
            autoscaler,
            "spec",
            "targetCPUUtilizationPercentage",
            utilization,
        );
    }
    if let Some(measured) = measured {
        let key = "currentCPUUtilizationPercentage";
        put(autoscaler, "status", key, measured);
    }
    if autoscaler["status"].is_object() && autoscaler["status"]["currentReplicas"].is_null() {
        put(autoscaler, "status", "currentReplicas", 0.into());
    }
    let current: Vec<_> = current
        .iter()
        .map(|metric| metric_to_v1(metric, STATUSES))
        .collect();
    if !others.is_empty() {
        annotate(autoscaler, METRICS, &json!(others));
    }
    if !current.is_empty() {
        annotate(autoscaler, CURRENT_METRICS, &json!(current));
    }
    if let Some(behavior) = behavior {
        annotate(autoscaler, BEHAVIOR, &behavior_to_v1(&behavior));
    }
    if !conditions.is_empty() {
        annotate(autoscaler, CONDITIONS, &json!(conditions));
    }
}

pub(super) fn to_v2(autoscaler: &mut Value) {
    let annotations = take_annotations(autoscaler);
    let annotated = |key: &str| -> Option<Value> {
        let text = annotations.get(key)?.as_str()?;
        serde_json::from_str(text).ok()
    };
    let mut metrics: Vec<Value> = annotated(METRICS)
        .as_ref()
        .and_then(Value::as_array)
        .map(|metrics| metrics.iter().map(source_to_v2).collect())
        .unwrap_or_default();
    let utilization = take(autoscaler, "spec", "targetCPUUtilizationPercentage");
    if let Some(utilization) = utilization {
        metrics.push(cpu_metric(&utilization));
    } else if metrics.is_empty() {
        metrics.push(cpu_metric(&DEFAULT_UTILIZATION.into()));
    }
    put(autoscaler, "spec", "metrics", metrics.into());
    if let Some(behavior) = annotated(BEHAVIOR) {
        put(autoscaler, "spec", "behavior", uncapitalized(&behavior, 0));
    }
    let measured = take(autoscaler, "status", "currentCPUUtilizationPercentage");
    if let Some(Value::Array(current)) = annotated(CURRENT_METRICS) {
        let current: Vec<_> = current.iter().map(status_to_v2).collect();
        put(autoscaler, "status", "currentMetrics", current.into());
    } else if let Some(measured) = measured {
        let metric = json!([{
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": measured}},
        }]);
        put(autoscaler, "status", "currentMetrics", metric);
    }
    if let Some(conditions @ Value::Array(_)) = annotated(CONDITIONS) {
        put(autoscaler, "status", "conditions", conditions);
    }
    if autoscaler["status"].is_object() {
        if autoscaler["status"]["currentReplicas"] == 0 {
            take(autoscaler, "status", "currentReplicas");
        }
        if autoscaler["status"]["currentMetrics"].is_null() {
            put(autoscaler, "status", "currentMetrics", Value::Null);
        }
    }
}

fn cpu_metric(utilization: &Value) -> Value {
    json!({
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": utilization},
        },
    })
}

fn cpu_utilization(metric: &Value) -> Option<&Value> {
    let resource = &metric["resource"];
    let is_cpu = metric["type"] == "Resource" && resource["name"] == "cpu";
    let utilization = &resource["target"]["averageUtilization"];
    (is_cpu && utilization.is_number()).then_some(utilization)
}

fn measured_cpu(metric: &Value) -> Option<&Value> {
    let resource = &metric["resource"];
    let is_cpu = metric["type"] == "Resource" && resource["name"] == "cpu";
    let utilization = &resource["current"]["averageUtilization"];
    (is_cpu && utilization.is_number()).then_some(utilization)
}

fn metric_to_v1(metric: &Value, sources: &[(&str, FieldPaths)]) -> Value {
    let mut converted = Map::new();
    converted.insert("type".to_owned(), metric["type"].clone());
    for (name, moves) in sources {
        if !metric[name].is_object() {
            continue;
        }
        let mut source = Map::new();
        for (new, old) in *moves {
            if let Some(value) = at(&metric[name], new) {
                source.insert((*old).to_owned(), value.clone());
            } else if REQUIRED_IN_V1.contains(&(name, old)) {
                source.insert((*old).to_owned(), "0".into());
            }
        }
        converted.insert((*name).to_owned(), source.into());
    }
    converted.into()
}

fn metric_to_v2(metric: &Value, sources: &[(&str, FieldPaths)]) -> Value {
    let mut converted = json!({"type": metric["type"]});
    for (name, moves) in sources {
        if !metric[name].is_object() {
            continue;
        }
        let mut source = json!({});
        for (new, old) in *moves {
            let value = &metric[name][old];
            if value.is_null() {
                continue;
            }
            match new.split_once('.') {
                Some((outer, inner)) => source[outer][inner] = value.clone(),
                None => source[*new] = value.clone(),
            }
        }
        converted[*name] = source;
    }
    converted
}

fn status_to_v2(metric: &Value) -> Value {
    metric_to_v2(metric, STATUSES)
}

/// Like [`metric_to_v2`], with the target type, which `v1` does not have.
fn source_to_v2(metric: &Value) -> Value {
    let mut converted = metric_to_v2(metric, SOURCES);
    for (name, _) in SOURCES {
        let Some(source) = converted.get_mut(name).and_then(Value::as_object_mut) else {
            continue;
        };
        let target = source.entry("target").or_insert_with(|| json!({}));
        let type_ = match *name {
            "object" if target["averageValue"].is_null() => "Value",
            "external" if !target["value"].is_null() => "Value",
            "resource" | "containerResource" if !target["averageUtilization"].is_null() => {
                "Utilization"
            }
            _ => "AverageValue",
        };
        if let Some(target) = target.as_object_mut() {
            target.insert("type".to_owned(), type_.into());
            // In `v1` the value is required, but ignored if there is an average.
            if type_ == "AverageValue" && target.get("value").is_some_and(|value| value == "0") {
                target.remove("value");
            }
        }
    }
    converted
}

/// The annotation has the internal form of kube-apiserver, with capitalized field names and without omitted fields.
fn behavior_to_v1(behavior: &Value) -> Value {
    let rules = |rules: &Value| -> Value {
        if !rules.is_object() {
            return Value::Null;
        }
        let policies = rules["policies"].as_array().map(|policies| {
            let policy = |policy: &Value| {
                json!({
                    "Type": policy["type"],
                    "Value": policy["value"],
                    "PeriodSeconds": policy["periodSeconds"],
                })
            };
            policies.iter().map(policy).collect::<Vec<_>>()
        });
        json!({
            "StabilizationWindowSeconds": rules["stabilizationWindowSeconds"],
            "SelectPolicy": rules["selectPolicy"],
            "Policies": policies,
            "Tolerance": rules["tolerance"],
        })
    };
    json!({"ScaleUp": rules(&behavior["scaleUp"]), "ScaleDown": rules(&behavior["scaleDown"])})
}

fn uncapitalized(value: &Value, depth: usize) -> Value {
    const MAX_DEPTH: usize = 8;
    match value {
        Value::Object(map) if depth < MAX_DEPTH => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| {
                let mut letters = key.chars();
                let first = letters.next().map(|first| first.to_ascii_lowercase());
                let key = first.into_iter().chain(letters).collect::<String>();
                (key, uncapitalized(value, depth.saturating_add(1)))
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) if depth < MAX_DEPTH => items
            .iter()
            .map(|item| uncapitalized(item, depth.saturating_add(1)))
            .collect(),
        other => other.clone(),
    }
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    for step in path.split('.') {
        value = value.get(step)?;
    }
    (!value.is_null()).then_some(value)
}

fn take(object: &mut Value, part: &str, key: &str) -> Option<Value> {
    let part = object.get_mut(part)?.as_object_mut()?;
    part.remove(key).filter(|value| !value.is_null())
}

fn take_list(object: &mut Value, part: &str, key: &str) -> Vec<Value> {
    match take(object, part, key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn put(object: &mut Value, part: &str, key: &str, value: Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let part = object.entry(part).or_insert_with(|| json!({}));
    if let Some(part) = part.as_object_mut() {
        part.insert(key.to_owned(), value);
    }
}

fn annotate(object: &mut Value, key: &str, value: &Value) {
    if !object["metadata"]["annotations"].is_object() {
        put(object, "metadata", "annotations", json!({}));
    }
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.insert(key.to_owned(), value.to_string().into());
    }
}

/// Removes and returns the annotations that carry converted fields.
fn take_annotations(object: &mut Value) -> Map<String, Value> {
    let mut taken = Map::new();
    let Some(annotations) = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    else {
        return taken;
    };
    for key in ANNOTATIONS {
        if let Some(value) = annotations.remove(key) {
            taken.insert(key.to_owned(), value);
        }
    }
    if annotations.is_empty() {
        take(object, "metadata", "annotations");
    }
    taken
}
