//! Ages, as kubectl prints them.

use jiff::Timestamp;
use outrigger_builtin::table::moment::{human, seconds_between};

/// The time since `then`, with one or two units: `45s`, `3m20s`, `2d4h`.
pub(crate) fn since(then: Timestamp, now: Timestamp) -> String {
    // The clock of the server may be ahead.
    human(seconds_between(then, now).max(0))
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
