//! `time`: instants, durations, locations and layouts.

mod duration;
mod layout;
mod location;
mod parse;

use std::fmt::{self, Write as _};

pub use duration::{Duration, DurationError};
pub use layout::{MONTHS, WEEKDAYS};
pub use location::Location;
pub use parse::ParseError;

const NANOS: i128 = 1_000_000_000;
const DAY: i64 = 86_400;

/// `unixToInternal`: seconds from year 1 to 1970. Go counts from year 1, so that times in the far future wrap around.
const UNIX_TO_INTERNAL: i64 = 62_135_596_800;
/// `unixToAbsolute`: seconds from the zero of Go's calendar, in the year -292277022400, to 1970. Dates before it wrap around.
const UNIX_TO_ABSOLUTE: u64 = 9_223_372_028_741_760_000;

/// `time.RFC3339Nano`
pub const RFC3339_NANO: &[u8] = b"2006-01-02T15:04:05.999999999Z07:00";

/// `time.Time`
#[derive(Debug, Clone)]
pub struct Time {
    /// Since 1970 UTC.
    pub seconds: i64,
    pub nanos: u32,
    pub location: Location,
    /// The reading of the monotonic clock in nanoseconds, which `String` prints.
    pub monotonic: Option<i64>,
}

/// The date and the clock in a location.
#[derive(Debug, Clone, Copy)]
pub struct Civil {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    /// Starts at 1.
    pub year_day: i64,
    /// Sunday is 0.
    pub weekday: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

impl Time {
    /// The zero time: January 1 of year 1.
    pub fn zero() -> Self {
        Self {
            seconds: days_from_civil(1, 1, 1) * DAY,
            nanos: 0,
            location: Location::Utc,
            monotonic: None,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.seconds == days_from_civil(1, 1, 1) * DAY && self.nanos == 0
    }

    pub fn from_nanos(nanos: i128, location: Location) -> Self {
        Self {
            seconds: i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(0),
            nanos: u32::try_from(nanos.rem_euclid(NANOS)).unwrap_or(0),
            location,
            monotonic: None,
        }
    }

    #[must_use]
    pub fn with_monotonic(mut self, nanos: i64) -> Self {
        self.monotonic = Some(nanos);
        self
    }

    pub fn total_nanos(&self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    /// Nanoseconds since year 1.
    fn internal_nanos(&self) -> i128 {
        let seconds = self.seconds.wrapping_add(UNIX_TO_INTERNAL);
        i128::from(seconds) * NANOS + i128::from(self.nanos)
    }

    /// `Time.In`
    #[must_use]
    pub fn in_location(&self, location: Location) -> Self {
        Self {
            location,
            monotonic: None,
            ..self.clone()
        }
    }

    /// `Time.Add`
    #[must_use]
    pub fn add(&self, duration: Duration) -> Self {
        Self {
            monotonic: self
                .monotonic
                .and_then(|reading| reading.checked_add(duration.0)),
            ..Self::from_nanos(
                self.total_nanos() + i128::from(duration.0),
                self.location.clone(),
            )
        }
    }

    /// `Time.Sub`, which saturates.
    pub fn sub(&self, earlier: &Self) -> Duration {
        let nanos = self.internal_nanos() - earlier.internal_nanos();
        let bounded = nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        Duration(i64::try_from(bounded).unwrap_or(0))
    }

    pub fn civil(&self) -> Civil {
        let (offset, _) = self.location.lookup(self.seconds);
        let (days, rest) = calendar_days(self.seconds.wrapping_add(offset));
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

    /// `time.Date`: normalizes months and days out of range.
    pub fn from_civil(
        date: (i64, i64, i64),
        seconds_of_day: i64,
        nanos: u32,
        location: Location,
    ) -> Self {
        let (year, month, day) = date;
        let months = year * 12 + month - 1;
        let days = days_from_civil(months.div_euclid(12), months.rem_euclid(12) + 1, 1) + day - 1;
        let local = days.wrapping_mul(DAY).wrapping_add(seconds_of_day);
        let (guess, _) = location.lookup(local);
        let offset = if guess == 0 {
            0
        } else {
            location.lookup(local.wrapping_sub(guess)).0
        };
        Self {
            seconds: local.wrapping_sub(offset),
            nanos,
            location,
            monotonic: None,
        }
    }

    /// `time.ParseInLocation`
    pub fn parse(layout: &[u8], value: &[u8], location: &Location) -> Result<Self, ParseError> {
        parse::parse(layout, value, location)
    }

    /// `Time.Format`
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        layout::format(self, layout)
    }

    /// `Time.Truncate` and, if `round`, `Time.Round`. Multiples of `unit` count from the zero time.
    #[must_use]
    pub fn truncate(&self, unit: Duration, round: bool) -> Self {
        if unit.0 <= 0 {
            return self.in_location(self.location.clone());
        }
        let unit = i128::from(unit.0);
        let since_zero = self.total_nanos() - Self::zero().total_nanos();
        let remainder = since_zero.rem_euclid(unit);
        let up = round && remainder * 2 >= unit;
        let change = if up { unit - remainder } else { -remainder };
        Self::from_nanos(self.total_nanos() + change, self.location.clone())
    }
}

/// `Time.String`
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.format(b"2006-01-02 15:04:05.999999999 -0700 MST");
        f.write_str(&String::from_utf8_lossy(&text))?;
        if let Some(nanos) = self.monotonic {
            let sign = if nanos < 0 { '-' } else { '+' };
            let nanos = nanos.unsigned_abs();
            let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
            write!(f, " m={sign}{seconds}.{rest:09}")?;
        }
        Ok(())
    }
}

/// Days since 1970, and the seconds of the day, of seconds since 1970.
fn calendar_days(seconds: i64) -> (i64, i64) {
    const DAY_LENGTH: u64 = DAY.unsigned_abs();
    let absolute = seconds.cast_unsigned().wrapping_add(UNIX_TO_ABSOLUTE);
    let days = (absolute / DAY_LENGTH).cast_signed();
    (
        days - (UNIX_TO_ABSOLUTE / DAY_LENGTH).cast_signed(),
        (absolute % DAY_LENGTH).cast_signed(),
    )
}

/// Days since 1970 of a date in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that the leap day is the last day of the year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year, month and day of a number of days since 1970.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
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

/// `quote` of the time package, which escapes all bytes that are not ASCII.
fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b' '..=0x7f => out.push(char::from(*byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(seconds: i64) -> Time {
        Time {
            seconds,
            nanos: 0,
            location: Location::Utc,
            monotonic: None,
        }
    }

    #[test]
    fn dates_before_the_zero_of_the_calendar_wrap_around() {
        // The first second of the calendar, the one before it, and the ends of the range, as printed by Go.
        for (seconds, expected) in [
            (i64::MAX, "292277026596-12-04 15:30:07 +0000 UTC"),
            (i64::MIN, "292277026596-12-04 15:30:08 +0000 UTC"),
            (
                -9_223_372_028_741_760_001,
                "292277026854-01-07 07:00:15 +0000 UTC",
            ),
            (
                -9_223_372_028_741_760_000,
                "-292277022400-03-01 00:00:00 +0000 UTC",
            ),
            (0, "1970-01-01 00:00:00 +0000 UTC"),
            (-1, "1969-12-31 23:59:59 +0000 UTC"),
        ] {
            assert_eq!(unix(seconds).to_string(), expected, "{seconds}");
        }
        let east = Location::Fixed {
            name: "X".into(),
            offset: 3600,
        };
        let text = unix(i64::MAX).in_location(east).to_string();
        assert_eq!(text, "292277026596-12-04 16:30:07 +0100 X");
    }

    #[test]
    fn dates_out_of_range_do_not_panic() {
        for year in [i64::MAX >> 12, i64::MIN >> 12] {
            let time = Time::from_civil((year, 13, 40), 86_399, 0, Location::Utc);
            let _ = time.to_string();
        }
    }

    #[test]
    fn times_in_the_far_future_are_before_all_others_as_in_go() {
        let longest = Duration(i64::MAX);
        assert_eq!(unix(0).sub(&unix(i64::MAX)), longest);
        assert_eq!(unix(0).sub(&unix(i64::MIN)), longest);
    }
}
