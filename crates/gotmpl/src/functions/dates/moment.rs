//! One point in time, seen in a zone.

use super::layout;
use super::zone::Zone;

const NANOS: i128 = 1_000_000_000;
const DAY: i64 = 86_400;

/// What a program's clock shows shortly after its start; Go prints it behind the time.
const MONOTONIC_START: i64 = 50_000_000;

#[derive(Debug, Clone)]
pub(super) struct Moment {
    /// Since 1970, in UTC.
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    pub(super) zone: Zone,
    /// Nanoseconds since the start of the program, if the time came from its clock.
    pub(super) monotonic: Option<i64>,
}

/// Date and time of day on the wall.
#[derive(Debug, Clone, Copy)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    /// From 1.
    pub(super) year_day: i64,
    /// Sunday is 0.
    pub(super) weekday: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
}

impl Moment {
    /// The first of January of the year 1, Go's zero time.
    pub(super) fn zero() -> Self {
        Self {
            seconds: days_from_civil(1, 1, 1) * DAY,
            nanos: 0,
            zone: Zone::Utc,
            monotonic: None,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.seconds == days_from_civil(1, 1, 1) * DAY && self.nanos == 0
    }

    pub(super) fn from_nanos(nanos: i128, zone: Zone) -> Self {
        Self {
            seconds: i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(0),
            nanos: u32::try_from(nanos.rem_euclid(NANOS)).unwrap_or(0),
            zone,
            monotonic: None,
        }
    }

    pub(super) fn with_monotonic(mut self) -> Self {
        self.monotonic = Some(MONOTONIC_START);
        self
    }

    pub(super) fn total_nanos(&self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    pub(super) fn in_zone(&self, zone: Zone) -> Self {
        Self {
            zone,
            monotonic: None,
            ..self.clone()
        }
    }

    pub(super) fn plus(&self, nanos: i64) -> Self {
        Self {
            monotonic: self.monotonic.and_then(|start| start.checked_add(nanos)),
            ..Self::from_nanos(self.total_nanos() + i128::from(nanos), self.zone.clone())
        }
    }

    /// Nanoseconds since `earlier`, as far as they fit.
    pub(super) fn since(&self, earlier: &Self) -> i64 {
        let nanos = self.total_nanos() - earlier.total_nanos();
        let bounded = nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        i64::try_from(bounded).unwrap_or(0)
    }

    pub(super) fn civil(&self) -> Civil {
        let (offset, _) = self.zone.at(self.seconds);
        let local = self.seconds.saturating_add(offset);
        let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month,
            day,
            year_day: days - days_from_civil(year, 1, 1) + 1,
            weekday: (days + 4).rem_euclid(7),
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    /// A wall time in a zone. Months and days out of range carry over, as in Go's `time.Date`.
    pub(super) fn from_civil(
        date: (i64, i64, i64),
        seconds_of_day: i64,
        nanos: u32,
        zone: Zone,
    ) -> Self {
        let (year, month, day) = date;
        let months = year * 12 + month - 1;
        let days = days_from_civil(months.div_euclid(12), months.rem_euclid(12) + 1, 1) + day - 1;
        let local = days * DAY + seconds_of_day;
        let (guess, _) = zone.at(local);
        let offset = if guess == 0 {
            0
        } else {
            zone.at(local - guess).0
        };
        Self {
            seconds: local - offset,
            nanos,
            zone,
            monotonic: None,
        }
    }

    /// What `%v` prints.
    pub(super) fn display(&self) -> String {
        let text = layout::format(self, b"2006-01-02 15:04:05.999999999 -0700 MST");
        let text = String::from_utf8_lossy(&text).into_owned();
        if let Some(nanos) = self.monotonic {
            let sign = if nanos < 0 { '-' } else { '+' };
            let nanos = nanos.unsigned_abs();
            let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
            return format!("{text} m={sign}{seconds}.{rest:09}");
        }
        text
    }
}

/// Days since 1970 of a date in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March here, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a number of days since 1970.
pub(in crate::functions) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
