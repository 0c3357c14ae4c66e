//! Cron schedules, with the grammar and the messages of `robfig/cron`, which Kubernetes uses.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use outrigger_gostd::time::Duration;

mod field;
#[cfg(test)]
mod tests;

use field::{BOUNDS, Field};

/// How many days ahead [`Schedule::next`] searches: a 29th of February that is a Monday comes every 28 years.
const MAX_DAYS: u32 = 366 * 29;

/// Why a schedule does not parse, in the words of `robfig/cron`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// When a cron job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// At all minutes that match five fields.
    Spec(Spec),
    /// At a fixed interval, in whole seconds.
    Every(i64),
}

/// The fields of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    minute: Field,
    hour: Field,
    day_of_month: Field,
    month: Field,
    day_of_week: Field,
}

impl Schedule {
    /// Parses five fields, or a descriptor such as `@daily` or `@every 1h`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let Some(descriptor) = text.strip_prefix('@') else {
            return Spec::parse(text).map(Self::Spec);
        };
        let fields = match descriptor {
            "yearly" | "annually" => "0 0 1 1 *",
            "monthly" => "0 0 1 * *",
            "weekly" => "0 0 * * 0",
            "daily" | "midnight" => "0 0 * * *",
            "hourly" => "0 * * * *",
            _ => {
                return match descriptor.strip_prefix("every ") {
                    Some(duration) => every(text, duration),
                    None => Err(Error(format!("unrecognized descriptor: {text}"))),
                };
            }
        };
        Spec::parse(fields).map(Self::Spec)
    }

    /// The first time after `time`.
    pub fn next(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Every(seconds) => {
                Timestamp::from_second(time.as_second().checked_add(*seconds)?).ok()
            }
            Self::Spec(spec) => {
                let local = zone.to_datetime(time);
                let mut local = local.with().second(0).subsec_nanosecond(0).build().ok()?;
                local = local.checked_add(1.minute()).ok()?;
                let found = spec.first_from(local)?;
                let found = zone.to_ambiguous_timestamp(found).compatible().ok()?;
                // The hour that is repeated when daylight saving time ends could lead back.
                (found > time).then_some(found)
            }
        }
    }
}

impl Spec {
    fn parse(text: &str) -> Result<Self, Error> {
        let fields: Vec<_> = text.split_whitespace().collect();
        let [minute, hour, day_of_month, month, day_of_week] = fields.as_slice() else {
            return Err(Error(format!(
                "expected exactly 5 fields, found {}: [{}]",
                fields.len(),
                fields.join(" ")
            )));
        };
        Ok(Self {
            minute: Field::parse(minute, &BOUNDS.minute)?,
            hour: Field::parse(hour, &BOUNDS.hour)?,
            day_of_month: Field::parse(day_of_month, &BOUNDS.day_of_month)?,
            month: Field::parse(month, &BOUNDS.month)?,
            day_of_week: Field::parse(day_of_week, &BOUNDS.day_of_week)?,
        })
    }

    fn first_from(&self, from: DateTime) -> Option<DateTime> {
        let mut date = from.date();
        for index in 0..MAX_DAYS {
            if self.matches_date(date) {
                let earliest = if index == 0 {
                    (from.hour(), from.minute())
                } else {
                    (0, 0)
                };
                if let Some((hour, minute)) = self.time_from(earliest) {
                    return Some(date.at(hour, minute, 0, 0));
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// If both fields for days are restricted, one match is enough.
    fn matches_date(&self, date: Date) -> bool {
        let day_of_month = self.day_of_month.contains(date.day());
        let weekday = date.weekday().to_sunday_zero_offset();
        let day_of_week = self.day_of_week.contains(weekday);
        let matches_day = if self.day_of_month.is_star || self.day_of_week.is_star {
            day_of_month && day_of_week
        } else {
            day_of_month || day_of_week
        };
        self.month.contains(date.month()) && matches_day
    }

    fn time_from(&self, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        (hour..24)
            .filter(|hour| self.hour.contains(*hour))
            .find_map(|candidate| {
                let first = if candidate == hour { minute } else { 0 };
                let minute = (first..60).find(|minute| self.minute.contains(*minute))?;
                Some((candidate, minute))
            })
    }
}

/// An interval: whole seconds, and at least one.
fn every(text: &str, duration: &str) -> Result<Schedule, Error> {
    let interval = Duration::parse(duration.as_bytes())
        .map_err(|error| Error(format!("failed to parse duration {text}: {error}")))?;
    Ok(Schedule::Every((interval.0 / Duration::SECOND.0).max(1)))
}
