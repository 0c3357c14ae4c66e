//! Jobs and cron jobs.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use serde_json::Value;

use super::field_checks::{
    list, map, none_negative, not_negative, one_of, one_of_if_set, text, unchanged,
};
use super::{pod, selector};
use crate::cron::Schedule;

const SPEC: Path<'static> = Path::root("spec");
const UID: &str = "batch.kubernetes.io/controller-uid";

pub(super) fn job(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    if spec["manualSelector"] != true {
        generated_selector(errors, spec);
    }
    common(errors, &SPEC, spec);
    let place = SPEC.child("selector");
    if spec["selector"].is_object() {
        selector::check(errors, &place, &spec["selector"]);
    } else {
        errors.push(Error::required(&place, ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if selector::selects(&spec["selector"], labels) != Some(true) {
        let place = SPEC.child("template");
        let place = place.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.push(Error::invalid(&place.child("labels"), labels, detail));
    }
}

/// The server makes the selector, so that a client must not.
fn generated_selector(errors: &mut Vec<Error>, spec: &Value) {
    let chosen = &spec["selector"];
    let labels = map(chosen, "matchLabels").count();
    let is_ours = labels == 1
        && chosen["matchLabels"][UID].is_string()
        && list(chosen, "matchExpressions").is_empty();
    if !is_ours && chosen.is_object() {
        let shown = selector::shown(chosen);
        let detail = "`selector` not auto-generated";
        errors.push(Error::invalid(&SPEC.child("selector"), shown, detail));
    }
}

/// What a Job and the template of a cron job have.
fn common(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    none_negative(
        errors,
        path,
        spec,
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
        ],
    );
    let mode = &spec["completionMode"];
    let place = path.child("completionMode");
    one_of_if_set(errors, &place, mode, &["NonIndexed", "Indexed"]);
    if *mode == "Indexed" && spec["completions"].is_null() {
        let place = path.child("completions");
        let detail = "when completion mode is Indexed";
        errors.push(Error::required(&place, detail));
    }
    let place = path.child("podReplacementPolicy");
    let policies = ["Failed", "TerminatingOrFailed"];
    one_of_if_set(errors, &place, &spec["podReplacementPolicy"], &policies);
    let place = path.child("template");
    pod::template(errors, &place, &spec["template"]);
    let policy = text(&spec["template"]["spec"], "restartPolicy");
    if !matches!(policy, "OnFailure" | "Never") {
        let place = place.child("spec");
        let detail = "valid values: \"OnFailure\", \"Never\"";
        errors.push(Error::required(&place.child("restartPolicy"), detail));
    }
}

pub(super) fn cron_job(object: &Value, errors: &mut Vec<Error>) {
    let name = text(&object["metadata"], "name");
    if name.len() > 52 {
        let place = Path::root("metadata");
        let detail = "must be no more than 52 characters";
        errors.push(Error::invalid(&place.child("name"), name, detail));
    }
    let spec = &object["spec"];
    let schedule = text(spec, "schedule");
    let place = SPEC.child("schedule");
    if schedule.is_empty() {
        errors.push(Error::required(&place, ""));
    } else if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(Error::invalid(&place, schedule, detail));
    } else if let Err(error) = Schedule::parse(schedule) {
        errors.push(Error::invalid(&place, schedule, error.to_string()));
    }
    let place = SPEC.child("startingDeadlineSeconds");
    not_negative(errors, &place, &spec["startingDeadlineSeconds"]);
    time_zone(errors, spec);
    let policies = ["Allow", "Forbid", "Replace"];
    let policy = text(spec, "concurrencyPolicy");
    one_of(errors, &SPEC.child("concurrencyPolicy"), policy, &policies);
    let place = SPEC.child("jobTemplate");
    let place = place.child("spec");
    let template = &spec["jobTemplate"]["spec"];
    common(errors, &place, template);
    if template["manualSelector"] == true {
        let place = place.child("manualSelector");
        errors.push(Error::not_supported(&place, true, &["nil", "false"]));
    }
    none_negative(
        errors,
        &SPEC,
        spec,
        &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
    );
}

fn time_zone(errors: &mut Vec<Error>, spec: &Value) {
    let Some(zone) = spec["timeZone"].as_str() else {
        return;
    };
    let place = SPEC.child("timeZone");
    if zone.is_empty() {
        let detail = "timeZone must be nil or non-empty string";
        errors.push(Error::invalid(&place, zone, detail));
    } else if zone.eq_ignore_ascii_case("local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(Error::invalid(&place, zone, detail));
    } else if jiff::tz::db().get(zone).is_err() {
        let detail = format!("unknown time zone {zone}");
        errors.push(Error::invalid(&place, zone, detail));
    }
}

pub(super) fn update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (&new["spec"], &old["spec"]);
    let is_suspended = old["suspend"] == true;
    if new["completions"] != old["completions"] && new["completionMode"] != "Indexed" {
        let place = SPEC.child("completions");
        unchanged(errors, &place, &new["completions"], &old["completions"]);
    }
    if new["selector"] != old["selector"] {
        let place = SPEC.child("selector");
        let shown = selector::shown(&new["selector"]);
        errors.push(Error::invalid(&place, shown, "field is immutable"));
    }
    if new["template"] != old["template"] && !is_suspended {
        // The real server shows the whole template here in its inner form.
        let place = SPEC.child("template");
        let shown = BadValue::from(&new["template"]);
        errors.push(Error::invalid(&place, shown, "field is immutable"));
    }
    let place = SPEC.child("completionMode");
    let key = "completionMode";
    unchanged(errors, &place, &new[key], &old[key]);
}
