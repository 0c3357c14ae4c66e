//! Spans of time as Go writes them: `300ms`, `1m30s`, `1.5h`.

use std::time::Duration;

const UNITS: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Reads a span of time. None if it is not one, or is too long to count.
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        seconds += number.parse::<f64>().ok()? * size;
        rest = after;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_go_reads_them() {
        let millis = |text| parse(text).map(|span| span.as_millis());
        assert_eq!(millis("300ms"), Some(300));
        assert_eq!(millis("1m30s"), Some(90_000));
        assert_eq!(millis("1.5h"), Some(5_400_000));
        assert_eq!(millis("0s"), Some(0));
    }

    #[test]
    fn what_go_does_not_read_is_refused() {
        for text in ["", "5", "m", "5 m", "-5m", "5x", "1.2.3s", "5m3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
