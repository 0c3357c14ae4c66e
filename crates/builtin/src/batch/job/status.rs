//! Validation of updates to the status of a Job: contradictory conditions and counters, and irreversible changes. The
//! syntax of index lists is not validated.
//!
//! Most rules only cover fields that the update changes, so that an invalid old status does not block other updates.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::fields::{list, text};
use crate::validation::field_checks::validate_nonnegative;

const STATUS: Path<'static> = Path::root("status");
const CONDITIONS: Path<'static> = STATUS.child("conditions");

/// The spec and the status of a Job.
struct View<'a> {
    spec: &'a Value,
    status: &'a Value,
}

impl<'a> View<'a> {
    fn of(job: &'a Value) -> Self {
        Self {
            spec: &job["spec"],
            status: &job["status"],
        }
    }

    fn has(&self, condition: &str, state: &str) -> bool {
        list(self.status, "conditions")
            .iter()
            .any(|entry| entry["type"] == condition && entry["status"] == state)
    }

    fn is(&self, condition: &str) -> bool {
        self.has(condition, "True")
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    fn count(&self, key: &str) -> i64 {
        self.status[key].as_i64().unwrap_or_default()
    }

    fn uncounted(&self, key: &str) -> &'a [Value] {
        list(&self.status["uncountedTerminatedPods"], key)
    }
}

pub(crate) fn validate(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (View::of(new), View::of(old));
    for key in ["active", "succeeded", "failed", "ready", "terminating"] {
        validate_nonnegative(errors, &STATUS.child(key), &new.status[key]);
    }
    uncounted(errors, &new);
    conditions(errors, &new, &old);
    times(errors, &new, &old);
    finished(errors, &new, &old);
    indexes(errors, &new, &old);
    let is_changed = |key: &str| new.count(key) != old.count(key);
    if (is_changed("ready") || is_changed("active")) && new.count("ready") > new.count("active") {
        let detail = "cannot set more ready pods than active";
        let field = STATUS.child("ready");
        errors.push(Error::invalid(&field, new.count("ready"), detail));
    }
    validate_irreversible(errors, &new, &old);
}

fn uncounted(errors: &mut Vec<Error>, new: &View<'_>) {
    let path = STATUS.child("uncountedTerminatedPods");
    let mut seen = std::collections::HashSet::new();
    for key in ["succeeded", "failed"] {
        let path = path.child(key);
        for (index, uid) in new.uncounted(key).iter().enumerate() {
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                let detail = "must not be empty";
                errors.push(Error::invalid(&path.index(index), uid, detail));
            } else if !seen.insert(uid) {
                errors.push(Error::duplicate(&path.index(index), uid));
            }
        }
    }
}

/// Conditions that require or exclude each other.
fn conditions(errors: &mut Vec<Error>, new: &View<'_>, old: &View<'_>) {
    let is_changed = |condition: &str| new.is(condition) != old.is(condition);
    let is_complete = new.is("Complete");
    let (is_failed, is_met) = (new.is("Failed"), new.is("SuccessCriteriaMet"));
    let has_target = new.is("FailureTarget");
    let has_policy = new.spec["successPolicy"].is_object();
    let changes_indexes = new.status["failedIndexes"] != old.status["failedIndexes"];
    for (is_wrong, detail) in [
        (
            (is_changed("Complete") || is_changed("Failed")) && is_complete && is_failed,
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            (is_changed("Complete") || is_changed("FailureTarget")) && is_complete && has_target,
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
        (
            (is_changed("Failed") || changes_indexes) && is_failed && !has_target,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            (is_changed("Complete") || is_changed("SuccessCriteriaMet")) && is_complete && !is_met,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (
            is_met && is_failed,
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ),
        (
            is_met && has_target,
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
        (
            has_policy && !is_met && is_complete,
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        ),
    ] {
        if is_wrong {
            errors.push(Error::invalid_omitting_value(&CONDITIONS, detail));
        }
    }
}

fn times(errors: &mut Vec<Error>, new: &View<'_>, old: &View<'_>) {
    let (start, end) = (
        text(new.status, "startTime"),
        text(new.status, "completionTime"),
    );
    let changes_start = start != text(old.status, "startTime");
    let changes_end = end != text(old.status, "completionTime");
    let field = STATUS.child("completionTime");
    if changes_end || new.is("Complete") != old.is("Complete") {
        if !end.is_empty() && !new.is("Complete") {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            errors.push(Error::invalid(&field, end, detail));
        }
        if end.is_empty() && new.is("Complete") {
            let detail = "completionTime is required for Complete jobs";
            errors.push(Error::required(&field, detail));
        }
    }
    let has_both = !start.is_empty() && !end.is_empty();
    if (changes_start || changes_end) && has_both && end < start {
        let detail = "must be equal to or after `startTime`";
        errors.push(Error::invalid(&field, end, detail));
    }
}

/// Fields that a finished Job cannot have.
fn finished(errors: &mut Vec<Error>, new: &View<'_>, old: &View<'_>) {
    if !new.is_finished() {
        return;
    }
    let ends = !old.is_finished();
    let is_changed = |key: &str| new.status[key] != old.status[key];
    if (ends || is_changed("active")) && new.count("active") > 0 {
        let detail = "active>0 is invalid for finished job";
        let field = STATUS.child("active");
        errors.push(Error::invalid(&field, new.count("active"), detail));
    }
    let never_starts = new.spec["suspend"] == true && new.spec["completions"] == 0;
    let has_start = new.status["startTime"].is_string();
    if (ends || is_changed("startTime")) && !never_starts && !has_start {
        let detail = "startTime is required for finished job";
        errors.push(Error::required(&STATUS.child("startTime"), detail));
    }
    let pods = "uncountedTerminatedPods";
    let (succeeded, failed) = (new.uncounted("succeeded"), new.uncounted("failed"));
    if (ends || is_changed(pods)) && !(succeeded.is_empty() && failed.is_empty()) {
        let bad_value = format!(
            "{{\"Succeeded\":{},\"Failed\":{}}}",
            new.status[pods]["succeeded"], new.status[pods]["failed"]
        );
        let bad_value = outrigger_apimachinery::status::field::BadValue::verbatim(bad_value);
        let detail = "must be empty for finished job";
        errors.push(Error::invalid(&STATUS.child(pods), bad_value, detail));
    }
    if (ends || is_changed("terminating")) && new.count("terminating") > 0 {
        let detail = "terminating>0 is invalid for finished job";
        let field = STATUS.child("terminating");
        errors.push(Error::invalid(&field, new.count("terminating"), detail));
    }
}

fn indexes(errors: &mut Vec<Error>, new: &View<'_>, old: &View<'_>) {
    let completed = text(new.status, "completedIndexes");
    let is_indexed = new.spec["completionMode"] == "Indexed";
    let is_changed = completed != text(old.status, "completedIndexes");
    if is_changed && !completed.is_empty() && !is_indexed {
        let field = STATUS.child("completedIndexes");
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(Error::invalid(&field, completed, detail));
    }
    let failed = &new.status["failedIndexes"];
    let has_limit = !new.spec["backoffLimitPerIndex"].is_null();
    if *failed != old.status["failedIndexes"] && !failed.is_null() && !has_limit {
        let field = STATUS.child("failedIndexes");
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(Error::invalid(&field, failed, detail));
    }
}

/// Changes that are irreversible.
fn validate_irreversible(errors: &mut Vec<Error>, new: &View<'_>, old: &View<'_>) {
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if old.is(condition) && !new.is(condition) {
            let detail = format!("cannot disable the terminal {condition}=True condition");
            errors.push(Error::invalid_omitting_value(&CONDITIONS, detail));
        }
    }
    let is_elastic = new.spec["completionMode"] == "Indexed"
        && new.spec["completions"] == new.spec["parallelism"];
    for (key, is_free) in [("failed", false), ("succeeded", is_elastic)] {
        if !is_free && new.count(key) < old.count(key) {
            let detail = format!("cannot decrease the {key} counter");
            errors.push(Error::invalid(&STATUS.child(key), new.count(key), detail));
        }
    }
    let (was, is) = (
        text(old.status, "completionTime"),
        text(new.status, "completionTime"),
    );
    if !was.is_empty() && !is.is_empty() && was != is {
        let field = STATUS.child("completionTime");
        errors.push(Error::invalid(&field, is, "field is immutable"));
    }
    let (was, is) = (&old.status["startTime"], &new.status["startTime"]);
    let resumes = old.is("Suspended") && new.has("Suspended", "False");
    if was.is_string() && was != is && !resumes && new.spec["suspend"] != true {
        let detail = "field is immutable for unsuspended job once set";
        errors.push(Error::invalid(&STATUS.child("startTime"), is, detail));
    }
    let (was_met, is_met) = (old.is("SuccessCriteriaMet"), new.is("SuccessCriteriaMet"));
    if was_met && !is_met {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        errors.push(Error::invalid_omitting_value(&CONDITIONS, detail));
    }
    if old.is("Complete") && !was_met && is_met {
        let detail =
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        errors.push(Error::invalid_omitting_value(&CONDITIONS, detail));
    }
}
