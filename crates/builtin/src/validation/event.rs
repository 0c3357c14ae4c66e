//! Events: old ones, which have no exact time, and current ones. The newer group asks for more.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{each, required, text, unchanged};
use crate::kinds::convert;

const LONGEST_NAME: usize = 128;
const LONGEST_MESSAGE: usize = 1024;

/// An event of the core group.
pub(super) fn core(event: &Value, errors: &mut Vec<Error>) {
    check(event, "reportingComponent", errors);
}

/// An event of the newer group.
pub(super) fn current(event: &Value, errors: &mut Vec<Error>) {
    check(&convert::core_event(event), "reportingController", errors);
}

fn check(event: &Value, reporter: &str, errors: &mut Vec<Error>) {
    let own = text(&event["metadata"], "namespace");
    let about = text(&event["involvedObject"], "namespace");
    let is_current = event["eventTime"].is_string();
    // An event about something without a namespace is in the default one.
    let is_wrong = match (is_current, about) {
        (false, "") => !matches!(own, "default" | ""),
        (false, about) => own != about,
        (true, "") => !matches!(own, "default" | "kube-system"),
        (true, _) => false,
    };
    if is_wrong {
        let place = Path::root("involvedObject");
        let detail = "does not match event.namespace";
        errors.push(Error::invalid(&place.child("namespace"), about, detail));
    }
    if !is_current {
        return;
    }
    let name = text(event, "reportingComponent");
    let place = Path::root(reporter);
    required(errors, &place, name);
    each(errors, &place, name, syntax::label_key(name));
    for key in ["reportingInstance", "action", "reason"] {
        let place = Path::root(key);
        required(errors, &place, text(event, key));
        at_most(errors, &place, text(event, key), LONGEST_NAME);
    }
    let place = Path::root("message");
    at_most(errors, &place, text(event, "message"), LONGEST_MESSAGE);
}

fn at_most(errors: &mut Vec<Error>, place: &Path<'_>, value: &str, most: usize) {
    if value.len() > most {
        let detail = format!("can have at most {most} characters");
        errors.push(Error::invalid(place, "", detail));
    }
}

/// What the newer group asks of an event that is created.
pub(super) fn create(event: &Value, errors: &mut Vec<Error>) {
    let event = convert::core_event(event);
    series(&event["series"], errors);
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

fn series(series: &Value, errors: &mut Vec<Error>) {
    if !series.is_object() {
        return;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        let place = Path::root("series.count");
        errors.push(Error::invalid(&place, "", "should be at least 2"));
    }
    if !series["lastObservedTime"].is_string() {
        errors.push(Error::required(&Path::root("series.lastObservedTime"), ""));
    }
}

/// In the newer group only the series of an event can be changed.
pub(super) fn update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (convert::core_event(new), convert::core_event(old));
    if new["series"] != old["series"] {
        series(&new["series"], errors);
    }
    for (key, shown) in [
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
        unchanged(errors, &Path::root(shown), &new[key], &old[key]);
    }
}
