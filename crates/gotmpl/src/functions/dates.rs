//! Dates, times and durations, with Go's reference layouts.

mod duration;
mod layout;
mod moment;
mod object;
mod parse;
mod zone;

use super::args::{any, bytes, text};
use super::numeric::{IntError, parse_int};
use super::{Outcome, fixed};
use crate::function::{Call, CallError, Function, Host, Ty};
use crate::value::Value;
use moment::Moment;
use object::TimeObject;
use zone::Zone;

pub(super) use moment::civil_from_days;

const ANY: Ty = Ty::Any;
const STR: Ty = Ty::String;
const TIME: Ty = Ty::Named("time.Time");

const SECOND: i64 = 1_000_000_000;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("now", &[], TIME, |call, _| Ok(TimeObject::value(now(call)))),
    fixed("ago", &[ANY], STR, ago),
    fixed("date", &[STR, ANY], STR, |call, args| {
        Ok(formatted(call, bytes(args, 0), any(args, 1), "Local"))
    }),
    fixed("dateInZone", &[STR, ANY, STR], STR, date_in_zone),
    fixed("date_in_zone", &[STR, ANY, STR], STR, date_in_zone),
    fixed("htmlDate", &[ANY], STR, |call, args| {
        Ok(formatted(call, b"2006-01-02", any(args, 0), "Local"))
    }),
    fixed("htmlDateInZone", &[ANY, STR], STR, |call, args| {
        Ok(formatted(call, b"2006-01-02", any(args, 0), &text(args, 1)))
    }),
    fixed("dateModify", &[STR, TIME], TIME, date_modify),
    fixed("date_modify", &[STR, TIME], TIME, date_modify),
    fixed("mustDateModify", &[STR, TIME], TIME, must_date_modify),
    fixed("must_date_modify", &[STR, TIME], TIME, must_date_modify),
    fixed("toDate", &[STR, STR], TIME, |call, args| {
        let parsed = parse::parse(bytes(args, 0), bytes(args, 1), &Zone::local(call.host));
        Ok(TimeObject::value(parsed.unwrap_or_else(|_| Moment::zero())))
    }),
    fixed("mustToDate", &[STR, STR], TIME, |call, args| {
        let parsed = parse::parse(bytes(args, 0), bytes(args, 1), &Zone::local(call.host));
        parsed.map(TimeObject::value).map_err(CallError::Returned)
    }),
    fixed("duration", &[ANY], STR, duration_text),
    fixed("durationRound", &[ANY], STR, duration_round),
    fixed("unixEpoch", &[TIME], STR, |call, args| {
        Ok(Value::str(time_argument(call, args, 0).seconds.to_string()))
    }),
];

/// Whether the value is a `time.Time`.
pub(super) fn is_time(value: &Value) -> bool {
    TimeObject::moment_of(value).is_some()
}

/// The zones that mark TOML dates without one, with the layout of each.
const TOML_ZONES: [(&str, &[u8]); 3] = [
    ("datetime-local", b"2006-01-02T15:04:05.999999999"),
    ("date-local", b"2006-01-02"),
    ("time-local", b"15:04:05.999999999"),
];

/// A `time.Time` as it stands in a TOML document.
pub(super) fn toml_text(value: &Value) -> String {
    let moment = TimeObject::moment_of(value).unwrap_or_else(Moment::zero);
    let local = TOML_ZONES
        .iter()
        .find(|(zone, _)| *zone == moment.zone.name());
    let layout = local.map_or(
        &b"2006-01-02T15:04:05.999999999Z07:00"[..],
        |(_, layout)| layout,
    );
    String::from_utf8_lossy(&layout::format(&moment, layout)).into_owned()
}

/// The `time.Time` of a TOML document; newer releases allow a time without seconds.
pub(super) fn from_toml(text: &str, optional_seconds: bool, host: &dyn Host) -> Option<Value> {
    let local = Zone::local(host);
    let without_zone = |name: &str| Zone::Fixed {
        name: name.into(),
        offset: 0,
    };
    let [date_time, date, time] = TOML_ZONES.map(|(zone, _)| without_zone(zone));
    let with_seconds: [(&[u8], &Zone); 4] = [
        (b"2006-01-02T15:04:05.999999999Z07:00", &local),
        (b"2006-01-02T15:04:05.999999999", &date_time),
        (b"2006-01-02", &date),
        (b"15:04:05.999999999", &time),
    ];
    let without_seconds: [(&[u8], &Zone); 3] = [
        (b"2006-01-02T15:04Z07:00", &local),
        (b"2006-01-02T15:04", &date_time),
        (b"15:04", &time),
    ];
    let without_seconds = without_seconds.iter().filter(|_| optional_seconds);
    let (layout, moment) =
        with_seconds
            .iter()
            .chain(without_seconds)
            .find_map(|(layout, zone)| {
                Some((layout, parse::parse(layout, text.as_bytes(), zone).ok()?))
            })?;
    // Go accepts numbers without their leading zero, TOML does not.
    let fixed = layout.iter().take_while(|b| **b != b'.' && **b != b'Z');
    let in_place = fixed
        .zip(text.as_bytes())
        .all(|(wanted, found)| wanted.is_ascii_digit() || wanted == found);
    in_place.then(|| TimeObject::value(moment))
}

fn now(call: &Call<'_>) -> Moment {
    Moment::from_nanos(call.host.now(), Zone::local(call.host)).with_monotonic()
}

/// The `time.Time` at `at`, which the signature guarantees.
fn time_argument(call: &Call<'_>, args: &[Value], at: usize) -> Moment {
    TimeObject::moment_of(any(args, at)).unwrap_or_else(|| now(call))
}

/// A time, or a whole number of seconds since 1970; anything else means now.
fn moment_of(call: &Call<'_>, value: &Value) -> Moment {
    match value {
        Value::Int(seconds) | Value::Int64(seconds) => Moment {
            seconds: *seconds,
            nanos: 0,
            zone: Zone::local(call.host),
            monotonic: None,
        },
        other => TimeObject::moment_of(other).unwrap_or_else(|| now(call)),
    }
}

fn formatted(call: &Call<'_>, layout: &[u8], value: &Value, zone: &str) -> Value {
    let zone = Zone::load(zone, call.host).unwrap_or(Zone::Utc);
    Value::str(layout::format(
        &moment_of(call, value).in_zone(zone),
        layout,
    ))
}

fn date_in_zone(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    Ok(formatted(
        call,
        bytes(args, 0),
        any(args, 1),
        &text(args, 2),
    ))
}

fn date_modify(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    let moment = time_argument(call, args, 1);
    Ok(TimeObject::value(match duration::parse(bytes(args, 0)) {
        Ok(nanos) => moment.plus(nanos),
        Err(_) => moment,
    }))
}

fn must_date_modify(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    let nanos = duration::parse(bytes(args, 0)).map_err(CallError::Returned)?;
    Ok(TimeObject::value(time_argument(call, args, 1).plus(nanos)))
}

fn ago(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    let elapsed = now(call).since(&moment_of(call, any(args, 0)));
    Ok(Value::str(duration::text(duration::rounded(
        elapsed, SECOND,
    ))))
}

fn duration_text(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let seconds = match any(args, 0) {
        Value::Str(text) => parse_int(text.as_bytes(), 10).unwrap_or_else(IntError::nearest),
        Value::Int64(seconds) => *seconds,
        _ => 0,
    };
    Ok(Value::str(duration::text(seconds.wrapping_mul(SECOND))))
}

/// The largest unit that fits more than once, such as `3mo`.
fn duration_round(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    let nanos = match any(args, 0) {
        Value::Str(text) => duration::parse(text.as_bytes()).unwrap_or(0),
        Value::Int64(nanos) => *nanos,
        other => TimeObject::moment_of(other).map_or(0, |moment| now(call).since(&moment)),
    };
    let magnitude = nanos.unsigned_abs();
    let hour = 3600 * SECOND.unsigned_abs();
    let units = [
        (hour * 24 * 365, "y"),
        (hour * 24 * 30, "mo"),
        (hour * 24, "d"),
        (hour, "h"),
        (hour / 60, "m"),
        (hour / 3600, "s"),
    ];
    let fitting = units.iter().find(|(unit, _)| magnitude > *unit);
    Ok(Value::str(match fitting {
        Some((unit, name)) => format!("{}{name}", magnitude / unit),
        None => "0s".to_owned(),
    }))
}
