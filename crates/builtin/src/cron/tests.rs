//! Schedules that parse, those that do not, and the times of the next run.

use super::*;

#[test]
fn parses_lists_ranges_steps_names_and_descriptors() {
    for schedule in [
        "* * * * *",
        "*/5 0-6,12 1 JAN-mar sun",
        "0 0 ? * 1-5",
        "@daily",
        "@every 1h30m",
        "5/15 * * * *",
    ] {
        assert!(Schedule::parse(schedule).is_ok(), "{schedule}");
    }
}

#[test]
fn rejects_a_schedule_in_the_words_of_the_cron_library() {
    for (schedule, message) in [
        ("0 24 * * *", "end of range (24) above maximum (23): 24"),
        (
            "5-1 * * * *",
            "beginning of range (5) beyond end of range (1): 5-1",
        ),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("@nope", "unrecognized descriptor: @nope"),
        (
            "@every soon",
            "failed to parse duration @every soon: time: invalid duration \"soon\"",
        ),
        (
            "@every 5",
            "failed to parse duration @every 5: time: missing unit in duration \"5\"",
        ),
        (
            "*/0 * * * *",
            "step of range should be a positive number: */0",
        ),
    ] {
        let error = Schedule::parse(schedule).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[track_caller]
fn check(schedule: &str, from: &str, expected: &str) {
    let schedule = Schedule::parse(schedule).unwrap();
    let next = schedule.next(from.parse().unwrap(), &TimeZone::UTC);
    assert_eq!(next.unwrap().to_string(), expected);
}

#[test]
fn finds_the_next_run() {
    let now = "2026-11-16T10:02:30Z";
    check("*/5 * * * *", now, "2026-11-16T10:05:00Z");
    check(
        "*/5 * * * *",
        "2026-11-16T10:05:00Z",
        "2026-11-16T10:10:00Z",
    );
    check("30 2 * * mon-fri", now, "2026-11-17T02:30:00Z");
    check("0 0 29 2 *", now, "2028-02-29T00:00:00Z");
    check("@hourly", "2026-12-31T23:30:00Z", "2027-01-01T00:00:00Z");
    check("@every 1h30m", now, "2026-11-16T11:32:30Z");
    check("@every 1.5s", now, "2026-11-16T10:02:31Z");
    check("@every 1ms", now, "2026-11-16T10:02:31Z");
    let never = Schedule::parse("0 0 31 2 *").unwrap();
    assert_eq!(never.next(now.parse().unwrap(), &TimeZone::UTC), None);
}

#[test]
fn a_day_matches_either_restricted_field() {
    let now = "2026-11-16T12:00:00Z";
    check("0 12 1,15 * 1", now, "2026-11-23T12:00:00Z");
    check("0 12 1 * *", now, "2026-12-01T12:00:00Z");
    // A star with a step is a restriction.
    check("0 12 */10 * 1", now, "2026-11-21T12:00:00Z");
}
