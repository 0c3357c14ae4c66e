//! Durations in Go's format: `300ms`, `1m30s`, `1.5h`.

use std::time::Duration;

use outrigger_gostd::time;

/// Parses a duration. `None` if it does not parse or is negative.
pub fn parse(text: &str) -> Option<Duration> {
    let duration = time::Duration::parse(text.as_bytes()).ok()?;
    u64::try_from(duration.0).ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_durations_that_are_not_negative() {
        assert_eq!(parse("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(parse("0s"), Some(Duration::ZERO));
        assert_eq!(
            parse("9223372036s"),
            Some(Duration::from_secs(9_223_372_036))
        );
        for text in ["", "5", "5 m", "-5m", "5x", "9223372036854775807s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
