//! Dates, times and durations, with Go's reference layouts.

mod duration;
mod layout;
mod moment;
mod object;
mod parse;
mod zone;

use super::args::{any, bytes, text};
use super::numeric::parse_int;
use super::{Outcome, fixed};
use crate::function::{Call, CallError, Function, Ty};
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
    fixed("htmlDate", &[ANY], STR, |call, args| Ok(formatted(call, b"2006-01-02", any(args, 0), "Local"))),
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
    Value::str(layout::format(&moment_of(call, value).in_zone(zone), layout))
}

fn date_in_zone(call: &mut Call<'_>, args: &[Value]) -> Outcome {
    Ok(formatted(call, bytes(args, 0), any(args, 1), &text(args, 2)))
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
    Ok(Value::str(duration::text(duration::rounded(elapsed, SECOND))))
}

fn duration_text(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let seconds = match any(args, 0) {
        Value::Str(text) => parse_int(text.as_bytes(), 10).unwrap_or_else(|error| error.nearest()),
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
