//! Schedules of cron jobs: when the next run is due.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};

/// How far ahead is looked: a 29th of February that is a Monday comes every 28 years.
const MOST_DAYS: u32 = 366 * 29;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// When a cron job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Schedule {
    /// At all minutes that fit; each field is a set of bits.
    Times(Times),
    /// Again after so many seconds.
    Every(i64),
}

/// Sets of allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Times {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether any day of the month, or any day of the week, will do.
    any_day: bool,
    any_weekday: bool,
}

impl Schedule {
    /// None if it is no schedule; the server has refused such before.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => match text.strip_prefix("@every ") {
                Some(duration) => {
                    let span: Span = duration.trim().parse().ok()?;
                    let seconds = span.total(jiff::Unit::Second).ok()?;
                    // Whole seconds, and at least one, as in the real server.
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "a cast of floats stays in range"
                    )]
                    return Some(Self::Every((seconds as i64).max(1)));
                }
                None => text,
            },
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return None;
        };
        let is_any = |field: &str| field.starts_with('*') || field.starts_with('?');
        Some(Self::Times(Times {
            minutes: set(minutes, 0, 59, &[])?,
            hours: set(hours, 0, 23, &[])?,
            days: set(days, 1, 31, &[])?,
            months: set(months, 1, 12, &MONTHS)?,
            weekdays: set(weekdays, 0, 6, &DAYS)?,
            any_day: is_any(days),
            any_weekday: is_any(weekdays),
        }))
    }

    /// The first time after `time`.
    pub(super) fn next(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Every(seconds) => {
                Timestamp::from_second(time.as_second().checked_add(*seconds)?).ok()
            }
            Self::Times(times) => {
                let local = zone.to_datetime(time);
                let mut local = local.with().second(0).subsec_nanosecond(0).build().ok()?;
                local = local.checked_add(1.minute()).ok()?;
                let found = times.first_from(local)?;
                let found = zone.to_ambiguous_timestamp(found).compatible().ok()?;
                // An hour that comes twice could lead back.
                (found > time).then_some(found)
            }
        }
    }
}

impl Times {
    fn first_from(&self, from: DateTime) -> Option<DateTime> {
        let mut day = from.date();
        for index in 0..MOST_DAYS {
            if self.has_day(day) {
                let earliest = if index == 0 {
                    (from.hour(), from.minute())
                } else {
                    (0, 0)
                };
                if let Some((hour, minute)) = self.time_from(earliest) {
                    return Some(day.at(hour, minute, 0, 0));
                }
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    fn has_day(&self, date: jiff::civil::Date) -> bool {
        let has = |set: u64, value: i8| set & (1 << value) != 0;
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let day = has(self.days, date.day());
        let is_day = if self.any_day || self.any_weekday {
            day && weekday
        } else {
            day || weekday
        };
        has(self.months, date.month()) && is_day
    }

    fn time_from(&self, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        (hour..24)
            .filter(|hour| self.hours & (1 << hour) != 0)
            .find_map(|candidate| {
                let first = if candidate == hour { minute } else { 0 };
                let minute = (first..60).find(|minute| self.minutes & (1 << minute) != 0)?;
                Some((candidate, minute))
            })
    }
}

/// The values of one field: lists of `*`, numbers, ranges, with or without steps.
fn set(field: &str, least: u32, most: u32, names: &[&str]) -> Option<u64> {
    let mut bits = 0_u64;
    for part in field.split(',') {
        let (range, step) = part
            .split_once('/')
            .map_or((part, None), |(range, step)| (range, Some(step)));
        let value = |text: &str| -> Option<u32> {
            let lower = text.to_ascii_lowercase();
            let named = names.iter().position(|name| *name == lower);
            let named = named.and_then(|index| u32::try_from(index).ok());
            named
                .map(|index| index + least)
                .or_else(|| text.parse().ok())
        };
        let (first, last) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (least, most),
            Some((first, last)) => (value(first)?, value(last)?),
            None if step.is_some() => (value(range)?, most),
            None => (value(range)?, value(range)?),
        };
        let step: u32 = step.map_or(Some(1), |step| step.parse().ok())?;
        if step == 0 || first < least || last > most || first > last {
            return None;
        }
        for value in (first..=last).step_by(usize::try_from(step).ok()?) {
            bits |= 1 << value;
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schedule: &str, from: &str, expected: &str) {
        let zone = TimeZone::UTC;
        let next = Schedule::parse(schedule)
            .unwrap()
            .next(from.parse().unwrap(), &zone);
        assert_eq!(next.unwrap().to_string(), expected);
    }

    #[test]
    fn the_next_run_is_found() {
        check(
            "*/5 * * * *",
            "2026-11-16T10:02:30Z",
            "2026-11-16T10:05:00Z",
        );
        check(
            "*/5 * * * *",
            "2026-11-16T10:05:00Z",
            "2026-11-16T10:10:00Z",
        );
        check(
            "30 2 * * mon-fri",
            "2026-11-13T03:00:00Z",
            "2026-11-16T02:30:00Z",
        );
        check("0 0 29 2 *", "2026-11-16T00:00:00Z", "2028-02-29T00:00:00Z");
        check(
            "0 12 1,15 * 1",
            "2026-11-16T12:00:00Z",
            "2026-11-23T12:00:00Z",
        );
        check("@hourly", "2026-12-31T23:30:00Z", "2027-01-01T00:00:00Z");
        check(
            "@every 1h30m",
            "2026-11-16T10:00:00Z",
            "2026-11-16T11:30:00Z",
        );
        assert_eq!(Schedule::parse("61 * * * *"), None);
        assert_eq!(Schedule::parse("* * *"), None);
        let never = Schedule::parse("0 0 31 2 *").unwrap();
        assert_eq!(
            never.next("2026-01-01T00:00:00Z".parse().unwrap(), &TimeZone::UTC),
            None
        );
    }
}
