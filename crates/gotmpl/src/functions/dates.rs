//! Functions on times and durations.

mod object;

use outrigger_gostd::strconv::{NumError, parse_int};
use outrigger_gostd::time::{Duration, Location, RFC3339_NANO, Time};

use super::args::{any, bytes, text};
use super::{CallResult, fixed};
use crate::function::{Call, CallError, Function, Host, Ty};
use crate::value::Value;
use object::TimeObject;

const ANY: Ty = Ty::Any;
const STR: Ty = Ty::String;
const TIME: Ty = Ty::Named("time.Time");

/// The reading of the monotonic clock in `now`, which `time.Time` prints: shortly after the start of the program.
const MONOTONIC_READING: i64 = 50_000_000;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("now", &[], TIME, |call, _| Ok(TimeObject::value(now(call)))),
    fixed("ago", &[ANY], STR, ago),
    fixed("date", &[STR, ANY], STR, |call, args| {
        Ok(format(call, bytes(args, 0), any(args, 1), "Local"))
    }),
    fixed("dateInZone", &[STR, ANY, STR], STR, date_in_zone),
    fixed("date_in_zone", &[STR, ANY, STR], STR, date_in_zone),
    fixed("htmlDate", &[ANY], STR, |call, args| {
        Ok(format(call, b"2006-01-02", any(args, 0), "Local"))
    }),
    fixed("htmlDateInZone", &[ANY, STR], STR, |call, args| {
        Ok(format(call, b"2006-01-02", any(args, 0), &text(args, 1)))
    }),
    fixed("dateModify", &[STR, TIME], TIME, date_modify),
    fixed("date_modify", &[STR, TIME], TIME, date_modify),
    fixed("mustDateModify", &[STR, TIME], TIME, must_date_modify),
    fixed("must_date_modify", &[STR, TIME], TIME, must_date_modify),
    fixed("toDate", &[STR, STR], TIME, |call, args| {
        let time = Time::parse(bytes(args, 0), bytes(args, 1), &local(call.host));
        Ok(TimeObject::value(time.unwrap_or_else(|_| Time::zero())))
    }),
    fixed("mustToDate", &[STR, STR], TIME, |call, args| {
        Time::parse(bytes(args, 0), bytes(args, 1), &local(call.host))
            .map(TimeObject::value)
            .map_err(|error| CallError::returned(error.to_string()))
    }),
    fixed("duration", &[ANY], STR, duration_string),
    fixed("durationRound", &[ANY], STR, duration_round),
    fixed("unixEpoch", &[TIME], STR, |call, args| {
        Ok(Value::str(time_argument(call, args, 0).seconds.to_string()))
    }),
];

/// Whether the value is a `time.Time`.
pub(super) fn is_time(value: &Value) -> bool {
    TimeObject::time_of(value).is_some()
}

/// The locations by which the TOML library marks dates without a zone, with their layouts.
const TOML_LOCATIONS: [(&str, &[u8]); 3] = [
    ("datetime-local", b"2006-01-02T15:04:05.999999999"),
    ("date-local", b"2006-01-02"),
    ("time-local", b"15:04:05.999999999"),
];

/// A `time.Time` in its TOML form.
pub(super) fn to_toml(value: &Value) -> String {
    let time = TimeObject::time_of(value).unwrap_or_else(Time::zero);
    let local = TOML_LOCATIONS
        .iter()
        .find(|(name, _)| *name == time.location.name());
    let layout = local.map_or(RFC3339_NANO, |(_, layout)| layout);
    String::from_utf8_lossy(&time.format(layout)).into_owned()
}

/// Parses a TOML date or time; TOML 1.1 allows a time without seconds (`optional_seconds`).
pub(super) fn from_toml(text: &str, optional_seconds: bool, host: &dyn Host) -> Option<Value> {
    let local = local(host);
    let without_zone = |name: &str| Location::Fixed {
        name: name.into(),
        offset: 0,
    };
    let [date_time, date, time] = TOML_LOCATIONS.map(|(name, _)| without_zone(name));
    let with_seconds: [(&[u8], &Location); 4] = [
        (RFC3339_NANO, &local),
        (b"2006-01-02T15:04:05.999999999", &date_time),
        (b"2006-01-02", &date),
        (b"15:04:05.999999999", &time),
    ];
    let without_seconds: [(&[u8], &Location); 3] = [
        (b"2006-01-02T15:04Z07:00", &local),
        (b"2006-01-02T15:04", &date_time),
        (b"15:04", &time),
    ];
    let without_seconds = without_seconds.iter().filter(|_| optional_seconds);
    let (layout, parsed) =
        with_seconds
            .iter()
            .chain(without_seconds)
            .find_map(|(layout, location)| {
                Some((layout, Time::parse(layout, text.as_bytes(), location).ok()?))
            })?;
    // Go accepts numbers without leading zeros, TOML does not.
    let fixed = layout.iter().take_while(|b| **b != b'.' && **b != b'Z');
    let is_padded = fixed
        .zip(text.as_bytes())
        .all(|(expected, found)| expected.is_ascii_digit() || expected == found);
    is_padded.then(|| TimeObject::value(parsed))
}

fn local(host: &dyn Host) -> Location {
    Location::local(host.local_zone())
}

fn now(call: &Call<'_>) -> Time {
    Time::from_nanos(call.host.now(), local(call.host)).with_monotonic(MONOTONIC_READING)
}

/// The `time.Time` at `at`, which the signature guarantees.
fn time_argument(call: &Call<'_>, args: &[Value], at: usize) -> Time {
    TimeObject::time_of(any(args, at)).unwrap_or_else(|| now(call))
}

/// A time, or an integer of seconds since 1970; any other value means now.
fn to_time(call: &Call<'_>, value: &Value) -> Time {
    match value {
        Value::Int(seconds) | Value::Int64(seconds) => Time {
            seconds: *seconds,
            nanos: 0,
            location: local(call.host),
            monotonic: None,
        },
        other => TimeObject::time_of(other).unwrap_or_else(|| now(call)),
    }
}

fn format(call: &Call<'_>, layout: &[u8], value: &Value, location: &str) -> Value {
    let location = Location::load(location, call.host.local_zone()).unwrap_or(Location::Utc);
    Value::str(to_time(call, value).in_location(location).format(layout))
}

fn date_in_zone(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(format(call, bytes(args, 0), any(args, 1), &text(args, 2)))
}

fn date_modify(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let time = time_argument(call, args, 1);
    Ok(TimeObject::value(match Duration::parse(bytes(args, 0)) {
        Ok(duration) => time.add(duration),
        Err(_) => time,
    }))
}

fn must_date_modify(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let duration =
        Duration::parse(bytes(args, 0)).map_err(|error| CallError::returned(error.to_string()))?;
    Ok(TimeObject::value(
        time_argument(call, args, 1).add(duration),
    ))
}

fn ago(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let elapsed = now(call).sub(&to_time(call, any(args, 0)));
    Ok(Value::str(elapsed.round(Duration::SECOND).to_string()))
}

fn duration_string(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let seconds = match any(args, 0) {
        Value::Str(text) => parse_int(text.as_bytes(), 10).unwrap_or_else(NumError::value),
        Value::Int64(seconds) => *seconds,
        _ => 0,
    };
    let duration = Duration(seconds.wrapping_mul(Duration::SECOND.0));
    Ok(Value::str(duration.to_string()))
}

/// The duration in the largest unit that it exceeds, such as `3mo`.
fn duration_round(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let duration = match any(args, 0) {
        Value::Str(text) => Duration::parse(text.as_bytes()).unwrap_or_default(),
        Value::Int64(nanos) => Duration(*nanos),
        other => TimeObject::time_of(other)
            .map(|time| now(call).sub(&time))
            .unwrap_or_default(),
    };
    let magnitude = duration.0.unsigned_abs();
    let hour = Duration::HOUR.0.unsigned_abs();
    let units = [
        (hour * 24 * 365, "y"),
        (hour * 24 * 30, "mo"),
        (hour * 24, "d"),
        (hour, "h"),
        (hour / 60, "m"),
        (hour / 3600, "s"),
    ];
    let largest = units.iter().find(|(unit, _)| magnitude > *unit);
    Ok(Value::str(match largest {
        Some((unit, name)) => format!("{}{name}", magnitude / unit),
        None => "0s".to_owned(),
    }))
}
