//! Controllers of Pods, and what scales or protects them.

use outrigger_apimachinery::GroupVersion;
use serde_json::{Value, json};

use super::cells::{
    age, containers, has_condition, labels, list, name, number, selector, selector_text, text,
    text_or,
};
use super::moment::{Now, human, parse, seconds_between};

pub(super) fn deployment(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        ready_of(status, spec),
        number(status, "updatedReplicas").into(),
        number(status, "availableReplicas").into(),
        age(object, now),
        names,
        images,
        selector_text(&spec["selector"]).into(),
    ]
}

fn ready_of(status: &Value, spec: &Value) -> Value {
    let (ready, desired) = (number(status, "readyReplicas"), number(spec, "replicas"));
    format!("{ready}/{desired}").into()
}

pub(super) fn replica_set(object: &Value, now: Now) -> Vec<Value> {
    let mut cells = replicas(object, now);
    cells.push(selector(&object["spec"]["selector"]).into());
    cells
}

pub(super) fn replication_controller(object: &Value, now: Now) -> Vec<Value> {
    let mut cells = replicas(object, now);
    cells.push(labels(&object["spec"]["selector"]).into());
    cells
}

fn replicas(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        number(spec, "replicas").into(),
        number(status, "replicas").into(),
        number(status, "readyReplicas").into(),
        age(object, now),
        names,
        images,
    ]
}

pub(super) fn stateful_set(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        ready_of(status, spec),
        age(object, now),
        names,
        images,
    ]
}

pub(super) fn daemon_set(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let pod = &spec["template"]["spec"];
    let [names, images] = containers(pod);
    vec![
        name(object),
        number(status, "desiredNumberScheduled").into(),
        number(status, "currentNumberScheduled").into(),
        number(status, "numberReady").into(),
        number(status, "updatedNumberScheduled").into(),
        number(status, "numberAvailable").into(),
        labels(&pod["nodeSelector"]).into(),
        age(object, now),
        names,
        images,
        selector(&spec["selector"]).into(),
    ]
}

pub(super) fn pod_template(object: &Value, _: Now) -> Vec<Value> {
    let template = &object["template"];
    let [names, images] = containers(&template["spec"]);
    let labels = labels(&template["metadata"]["labels"]);
    vec![name(object), names, images, labels.into()]
}

pub(super) fn controller_revision(object: &Value, now: Now) -> Vec<Value> {
    let owners = list(&object["metadata"], "ownerReferences").iter();
    let controller = owners
        .filter(|owner| owner["controller"] == true)
        .map(|owner| {
            let group = GroupVersion::parse(text(owner, "apiVersion")).group;
            let kind = match group {
                "" => text(owner, "kind").to_lowercase(),
                group => format!("{}.{group}", text(owner, "kind")).to_lowercase(),
            };
            format!("{kind}/{}", text(owner, "name"))
        })
        .next();
    vec![
        name(object),
        controller.unwrap_or_else(|| "<none>".to_owned()).into(),
        number(object, "revision").into(),
        age(object, now),
    ]
}

pub(super) fn job(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let succeeded = number(status, "succeeded");
    let completions = match spec["completions"].as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None => match number(spec, "parallelism") {
            parallel @ 2.. => format!("{succeeded}/1 of {parallel}"),
            _ => format!("{succeeded}/1"),
        },
    };
    let time = |key: &str| status[key].as_str().and_then(parse);
    let duration = time("startTime").map(|start| {
        let end = time("completionTime").unwrap_or(now.0);
        human(seconds_between(start, end))
    });
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        job_status(object).into(),
        completions.into(),
        duration.unwrap_or_default().into(),
        age(object, now),
        names,
        images,
        selector(&spec["selector"]).into(),
    ]
}

fn job_status(job: &Value) -> &'static str {
    let is = |type_: &str| has_condition(job, type_, "True");
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if job["metadata"]["deletionTimestamp"].is_string() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

pub(super) fn cron_job(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let last = status["lastScheduleTime"].as_str();
    let job = &spec["jobTemplate"]["spec"];
    let [names, images] = containers(&job["template"]["spec"]);
    let suspended = match spec["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    vec![
        name(object),
        text(spec, "schedule").into(),
        text_or(spec, "timeZone", "<none>").into(),
        suspended.into(),
        list(status, "active").len().into(),
        last.map_or_else(|| "<none>".to_owned(), |last| now.since(Some(last)))
            .into(),
        age(object, now),
        names,
        images,
        selector(&job["selector"]).into(),
    ]
}

pub(super) fn disruption_budget(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let bound = |key: &str| match &spec[key] {
        Value::Null => json!("N/A"),
        Value::Number(number) => number.to_string().into(),
        other => other.clone(),
    };
    vec![
        name(object),
        bound("minAvailable"),
        bound("maxUnavailable"),
        number(&object["status"], "disruptionsAllowed").into(),
        age(object, now),
    ]
}

pub(super) fn autoscaler(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let target = &spec["scaleTargetRef"];
    let least = spec["minReplicas"].as_i64();
    vec![
        name(object),
        format!("{}/{}", text(target, "kind"), text(target, "name")).into(),
        metrics(list(spec, "metrics"), list(status, "currentMetrics")).into(),
        least
            .map_or_else(|| "<unset>".to_owned(), |least| least.to_string())
            .into(),
        number(spec, "maxReplicas").into(),
        number(status, "currentReplicas").into(),
        age(object, now),
    ]
}

/// The first two metrics as what was measured and what is wanted.
fn metrics(wanted: &[Value], measured: &[Value]) -> String {
    const MOST: usize = 2;
    if wanted.is_empty() {
        return "<none>".to_owned();
    }
    let all = wanted.iter().enumerate();
    let all = all.map(|(index, metric)| {
        let measured = measured.get(index).unwrap_or(&Value::Null);
        metric_text(metric, measured)
    });
    let all: Vec<_> = all.collect();
    let shown = all.iter().take(MOST).cloned().collect::<Vec<_>>();
    let shown = shown.join(", ");
    match all.len().checked_sub(MOST) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}

fn metric_text(wanted: &Value, measured: &Value) -> String {
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
