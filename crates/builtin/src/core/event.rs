//! Event of the core group and of `events.k8s.io`. Both share the stored objects; `events.k8s.io` validates more.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{number, text};
use crate::kinds::convert;
use crate::table::cells::{name, text_or};
use crate::table::moment::Now;
use crate::validation::field_checks::{push_invalid, require, validate_immutable};

const MAX_NAME_LENGTH: usize = 128;

const MAX_MESSAGE_LENGTH: usize = 1024;

/// Validates an Event of the core group.
pub(crate) fn validate(event: &Value, errors: &mut Vec<Error>) {
    validate_core(event, "reportingComponent", errors);
}

/// Validates an Event of `events.k8s.io`.
pub(crate) fn validate_events_v1(event: &Value, errors: &mut Vec<Error>) {
    validate_core(&convert::core_event(event), "reportingController", errors);
}

fn validate_core(event: &Value, reporter: &str, errors: &mut Vec<Error>) {
    let own = text(&event["metadata"], "namespace");
    let regarding = text(&event["involvedObject"], "namespace");
    let is_current = event["eventTime"].is_string();
    // Events about cluster-scoped objects are in the namespace `default`.
    let is_mismatch = match (is_current, regarding) {
        (false, "") => !matches!(own, "default" | ""),
        (false, regarding) => own != regarding,
        (true, "") => !matches!(own, "default" | "kube-system"),
        (true, _) => false,
    };
    if is_mismatch {
        let field = Path::root("involvedObject");
        let detail = "does not match event.namespace";
        errors.push(Error::invalid(&field.child("namespace"), regarding, detail));
    }
    if !is_current {
        return;
    }
    let name = text(event, "reportingComponent");
    let field = Path::root(reporter);
    require(errors, &field, name);
    push_invalid(errors, &field, name, syntax::label_key(name));
    for key in ["reportingInstance", "action", "reason"] {
        let field = Path::root(key);
        require(errors, &field, text(event, key));
        validate_max_length(errors, &field, text(event, key), MAX_NAME_LENGTH);
    }
    let field = Path::root("message");
    validate_max_length(errors, &field, text(event, "message"), MAX_MESSAGE_LENGTH);
}

fn validate_max_length(errors: &mut Vec<Error>, field: &Path<'_>, value: &str, most: usize) {
    if value.len() > most {
        let detail = format!("can have at most {most} characters");
        errors.push(Error::invalid(field, "", detail));
    }
}

/// `events.k8s.io` requires more of new Events.
pub(crate) fn validate_create_events_v1(event: &Value, errors: &mut Vec<Error>) {
    let event = convert::core_event(event);
    validate_series(&event["series"], errors);
    if !event["eventTime"].is_string() {
        errors.push(Error::required(&Path::root("eventTime"), ""));
    }
    let type_ = text(&event, "type");
    if !matches!(type_, "Normal" | "Warning") {
        let detail = format!("has invalid value: {type_}");
        errors.push(Error::invalid(&Path::root("type"), "", detail));
    }
    let source = &event["source"];
    for (key, is_set) in [
        ("firstTimestamp", event["firstTimestamp"].is_string()),
        ("lastTimestamp", event["lastTimestamp"].is_string()),
        ("count", event["count"].as_i64().unwrap_or_default() != 0),
        (
            "source",
            ["component", "host"].map(|key| text(source, key)) != ["", ""],
        ),
    ] {
        if is_set {
            errors.push(Error::invalid(&Path::root(key), "", "needs to be unset"));
        }
    }
}

fn validate_series(series: &Value, errors: &mut Vec<Error>) {
    if !series.is_object() {
        return;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        let field = Path::root("series.count");
        errors.push(Error::invalid(&field, "", "should be at least 2"));
    }
    if !series["lastObservedTime"].is_string() {
        errors.push(Error::required(&Path::root("series.lastObservedTime"), ""));
    }
}

/// In `events.k8s.io`, only the series of an Event is mutable.
pub(crate) fn validate_update_events_v1(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (convert::core_event(new), convert::core_event(old));
    if new["series"] != old["series"] {
        validate_series(&new["series"], errors);
    }
    for (key, bad_value) in [
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        validate_immutable(errors, &Path::root(bad_value), &new[key], &old[key]);
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let time = |key: &str| object[key].as_str();
    let first = now.since(time("firstTimestamp").or_else(|| time("eventTime")));
    let mut last = match time("lastTimestamp") {
        Some(last) => now.since(Some(last)),
        None => first.clone(),
    };
    let mut count = number(object, "count").max(1);
    let series = &object["series"];
    if series.is_object() {
        last = now.since(series["lastObservedTime"].as_str());
        count = number(series, "count");
    }
    let about = &object["involvedObject"];
    let kind = text(about, "kind").to_lowercase();
    let target = match text(about, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = &object["source"];
    let component = text_or(source, "component", text(object, "reportingComponent"));
    let source = match text_or(source, "host", text(object, "reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        last.into(),
        text(object, "type").into(),
        text(object, "reason").into(),
        target.into(),
        text(about, "fieldPath").into(),
        source.into(),
        text(object, "message").trim().into(),
        first.into(),
        count.into(),
        name(object),
    ]
}
