//! `CronJob`: defaults, validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use super::job;
use crate::cron::Schedule;
use crate::fields::{list, object_mut, set_missing, text};
use crate::table::cells::{age, containers, format_selector, name, text_or};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    validate_enum, validate_nonnegative, validate_nonnegative_fields,
};

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(job: &mut Map<String, Value>) {
    if let Some(spec) = object_mut(job, "spec") {
        set_missing(
            spec,
            [
                ("concurrencyPolicy", json!("Allow")),
                ("suspend", json!(false)),
                ("successfulJobsHistoryLimit", json!(3)),
                ("failedJobsHistoryLimit", json!(1)),
            ],
        );
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let name = text(&object["metadata"], "name");
    if name.len() > 52 {
        let field = Path::root("metadata");
        let detail = "must be no more than 52 characters";
        errors.push(Error::invalid(&field.child("name"), name, detail));
    }
    let spec = &object["spec"];
    let schedule = text(spec, "schedule");
    let field = SPEC.child("schedule");
    if schedule.is_empty() {
        errors.push(Error::required(&field, ""));
    } else if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(Error::invalid(&field, schedule, detail));
    } else if let Err(error) = Schedule::parse(schedule) {
        errors.push(Error::invalid(&field, schedule, error.to_string()));
    }
    let field = SPEC.child("startingDeadlineSeconds");
    validate_nonnegative(errors, &field, &spec["startingDeadlineSeconds"]);
    validate_time_zone(errors, spec);
    let policies = ["Allow", "Forbid", "Replace"];
    let policy = text(spec, "concurrencyPolicy");
    validate_enum(errors, &SPEC.child("concurrencyPolicy"), policy, &policies);
    let field = SPEC.child("jobTemplate");
    let field = field.child("spec");
    let template = &spec["jobTemplate"]["spec"];
    job::validate_job_spec(errors, &field, template);
    if template["manualSelector"] == true {
        let field = field.child("manualSelector");
        errors.push(Error::not_supported(&field, true, &["nil", "false"]));
    }
    validate_nonnegative_fields(
        errors,
        &SPEC,
        spec,
        &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
    );
}

fn validate_time_zone(errors: &mut Vec<Error>, spec: &Value) {
    let Some(zone) = spec["timeZone"].as_str() else {
        return;
    };
    let field = SPEC.child("timeZone");
    if zone.is_empty() {
        let detail = "timeZone must be nil or non-empty string";
        errors.push(Error::invalid(&field, zone, detail));
    } else if zone.eq_ignore_ascii_case("local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(Error::invalid(&field, zone, detail));
    } else if jiff::tz::db().get(zone).is_err() {
        let detail = format!("unknown time zone {zone}");
        errors.push(Error::invalid(&field, zone, detail));
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
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
        format_selector(&job["selector"]).into(),
    ]
}
