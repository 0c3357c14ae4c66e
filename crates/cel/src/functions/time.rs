//! The parts of timestamps and durations.

use std::sync::Arc;

use outrigger_gostd::strconv::parse_int;
use outrigger_gostd::time::{Civil, Location, Time};

use super::{Function, Implementation, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::Value;

type Result<T> = std::result::Result<T, Error>;

const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60_000_000_000;
const HOUR: i64 = 3_600_000_000_000;

pub(super) fn functions() -> Vec<Function> {
    vec![
        of_time(
            "getFullYear",
            ["timestamp_to_year", "timestamp_to_year_with_tz"],
            year,
        ),
        of_time(
            "getMonth",
            ["timestamp_to_month", "timestamp_to_month_with_tz"],
            month,
        ),
        of_time(
            "getDayOfYear",
            [
                "timestamp_to_day_of_year",
                "timestamp_to_day_of_year_with_tz",
            ],
            day_of_year,
        ),
        of_time(
            "getDayOfMonth",
            [
                "timestamp_to_day_of_month",
                "timestamp_to_day_of_month_with_tz",
            ],
            day_of_month,
        ),
        of_time(
            "getDate",
            [
                "timestamp_to_day_of_month_1_based",
                "timestamp_to_day_of_month_1_based_with_tz",
            ],
            date,
        ),
        of_time(
            "getDayOfWeek",
            [
                "timestamp_to_day_of_week",
                "timestamp_to_day_of_week_with_tz",
            ],
            day_of_week,
        ),
        of_time(
            "getHours",
            ["timestamp_to_hours", "timestamp_to_hours_with_tz"],
            hours,
        )
        .member("duration_to_hours", [Type::Duration], Type::Int, hours),
        of_time(
            "getMinutes",
            ["timestamp_to_minutes", "timestamp_to_minutes_with_tz"],
            minutes,
        )
        .member("duration_to_minutes", [Type::Duration], Type::Int, minutes),
        of_time(
            "getSeconds",
            ["timestamp_to_seconds", "timestamp_to_seconds_tz"],
            seconds,
        )
        .member("duration_to_seconds", [Type::Duration], Type::Int, seconds),
        of_time(
            "getMilliseconds",
            [
                "timestamp_to_milliseconds",
                "timestamp_to_milliseconds_with_tz",
            ],
            milliseconds,
        )
        .member(
            "duration_to_milliseconds",
            [Type::Duration],
            Type::Int,
            milliseconds,
        ),
    ]
}

/// A function of timestamps, with and without a time zone.
fn of_time(name: &'static str, ids: [&'static str; 2], implementation: Implementation) -> Function {
    let [id, id_with_zone] = ids;
    let with_zone = [Type::Timestamp, Type::String];
    Function::new(name)
        .member(id, [Type::Timestamp], Type::Int, implementation)
        .member(id_with_zone, with_zone, Type::Int, implementation)
}

/// The part of a timestamp in a time zone, or of a duration.
fn part<'v>(
    args: &[Value<'v>],
    of_time: impl Fn(&Time, Civil) -> i64,
    unit: Option<i64>,
) -> Result<Value<'v>> {
    let number = match (args, unit) {
        ([Value::Duration(nanos)], Some(unit)) => nanos.checked_div(unit).unwrap_or(0),
        ([Value::Timestamp(time)], _) => {
            let time = time.in_location(Location::Utc);
            of_time(&time, time.civil())
        }
        ([Value::Timestamp(time), zone], _) => {
            let time = time.in_location(location(text(zone)?)?);
            of_time(&time, time.civil())
        }
        _ => return Err(Error::NoSuchOverload),
    };
    Ok(Value::Int(number))
}

/// A time zone by its name, or as an offset such as `-08:00`.
fn location(zone: &str) -> Result<Location> {
    let Some((hours, minutes)) = zone.split_once(':') else {
        return Location::load(zone, "UTC")
            .ok_or_else(|| Error::function(format!("unknown time zone {zone}")));
    };
    let number = |text: &str| {
        parse_int(text.as_bytes(), 10).map_err(|_| {
            let text = outrigger_gostd::strconv::quote(text);
            Error::function(format!("strconv.Atoi: parsing {text}: invalid syntax"))
        })
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minutes = if zone.starts_with('-') {
        hours.saturating_mul(60).saturating_sub(minutes)
    } else {
        hours.saturating_mul(60).saturating_add(minutes)
    };
    let offset = minutes
        .saturating_mul(60)
        .clamp(-1_000_000_000, 1_000_000_000);
    let name = Arc::from("");
    Ok(Location::Fixed { name, offset })
}

fn year<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.year, None)
}

fn month<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.month.saturating_sub(1), None)
}

fn day_of_year<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.year_day.saturating_sub(1), None)
}

fn day_of_month<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.day.saturating_sub(1), None)
}

fn date<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.day, None)
}

fn day_of_week<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.weekday, None)
}

fn hours<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.hour, Some(HOUR))
}

fn minutes<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.minute, Some(MINUTE))
}

fn seconds<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    part(args, |_, civil| civil.second, Some(SECOND))
}

fn milliseconds<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let of_time = |time: &Time, _| i64::from(time.nanos).wrapping_div(MILLISECOND);
    part(args, of_time, Some(MILLISECOND))
}
