//! Ages, as kubectl prints them.

use jiff::Timestamp;

/// The time since `then`, with one or two units: `45s`, `3m20s`, `2d4h`.
pub(crate) fn since(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    let two = |first: i64, unit: &str, second: i64, small: &str| match second {
        0 => format!("{first}{unit}"),
        _ => format!("{first}{unit}{second}{small}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () => format!("{days}d"),
    }
}

/// The time since an RFC 3339 timestamp; `-` if there is none.
pub(crate) fn since_text(then: Option<&str>) -> String {
    let then: Option<Timestamp> = then.and_then(|text| text.parse().ok());
    then.map_or_else(|| "-".to_owned(), |then| since(then, Timestamp::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_at_most_two_units() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let expected = [
            (0, "0s"),
            (119, "119s"),
            (125, "2m5s"),
            (3600, "60m"),
            (4 * 3600 + 60, "4h1m"),
            (30 * 3600, "30h"),
            (50 * 3600, "2d2h"),
            (900 * 3600, "37d"),
        ];
        for (seconds, text) in expected {
            assert_eq!(since(at(0), at(seconds)), text);
        }
        assert_eq!(since(at(9), at(0)), "0s");
    }
}
