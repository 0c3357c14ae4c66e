//! Ages as `duration.HumanDuration` formats them.

use jiff::Timestamp;

/// The time at which ages are computed.
#[derive(Debug, Clone, Copy)]
pub struct Now(pub Timestamp);

impl Now {
    /// The age of a timestamp.
    pub(crate) fn since(self, time: Option<&str>) -> String {
        match time.and_then(parse) {
            Some(time) => human(seconds_between(time, self.0)),
            None => "<unknown>".to_owned(),
        }
    }
}

pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Whole seconds between two times, truncated towards zero.
pub fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    let nanoseconds = to.as_nanosecond().saturating_sub(from.as_nanosecond());
    i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX)
}

/// `HumanDuration`: a duration with two or three significant digits.
pub fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |first: i64, unit: &str, second: i64, small: &str| match second {
        0 => format!("{first}{unit}"),
        _ => format!("{first}{unit}{second}{small}"),
    };
    match () {
        // Allows for clock skew.
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => two(years, "y", days % 365, "d"),
        () => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_durations_as_kube_apiserver_does() {
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (7 * HOUR + 120, "7h2m"),
            (9 * HOUR + 120, "9h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY, "8d"),
            (700 * DAY, "700d"),
            (730 * DAY, "2y"),
            (731 * DAY, "2y1d"),
            (9 * 365 * DAY, "9y"),
        ] {
            assert_eq!(human(seconds), text, "{seconds}");
        }
    }
}
