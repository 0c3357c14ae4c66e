//! Parsing of `metav1.Time` and `metav1.MicroTime`, with the messages of Go's `time.Parse`.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use outrigger_apimachinery::status::field::quote;

/// The parts of the layout: digits or punctuation.
const SECONDS: &[&str] = &[
    "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00",
];
const MICROS: &[&str] = &[
    "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000", "Z07:00",
];

/// Formats a time as `2026-01-01T00:00:00Z`. Truncates fractions.
pub(super) fn seconds(text: &str) -> Result<String, String> {
    let time = parse(text, SECONDS)?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Formats a time as `2026-01-01T00:00:00.000000Z`. Requires six fractional digits.
pub(super) fn micros(text: &str) -> Result<String, String> {
    let time = parse(text, MICROS)?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

fn parse(text: &str, layout: &[&str]) -> Result<jiff::Zoned, String> {
    let invalid = |rest: &str, part: &str| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(text),
            quote(&layout.concat()),
            quote(rest),
            quote(part)
        )
    };
    let mut rest = text;
    for part in layout {
        rest = after_part(rest, part).ok_or_else(|| invalid(rest, part))?;
    }
    let time: Result<Timestamp, _> = text.parse();
    let time = time.map_err(|_| format!("parsing time {}: day out of range", quote(text)))?;
    Ok(time.to_zoned(TimeZone::UTC))
}

/// The rest of the text, if it starts with a match of the part.
fn after_part<'a>(text: &'a str, part: &str) -> Option<&'a str> {
    let digits = |count: usize| {
        let (digits, rest) = text.split_at_checked(count)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then_some(rest)
    };
    match part {
        "Z07:00" => Some(""),
        ".000000" => {
            let fraction = text.strip_prefix('.')?;
            let end = fraction.find(|c: char| !c.is_ascii_digit());
            (end == Some(6)).then(|| &fraction[6..])
        }
        part if part.starts_with(|c: char| c.is_ascii_digit()) => digits(part.len()),
        mark => text.strip_prefix(mark),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_times_in_utc() {
        assert_eq!(
            seconds("2026-01-01T02:00:00.999+02:00").as_deref(),
            Ok("2026-01-01T00:00:00Z")
        );
        assert_eq!(
            micros("2026-01-01T00:00:00.500000Z").as_deref(),
            Ok("2026-01-01T00:00:00.500000Z")
        );
    }

    #[test]
    fn messages_are_those_of_time_parse() {
        assert_eq!(
            seconds("x").unwrap_err(),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
        assert_eq!(
            micros("2026-01-01T00:00:00.5Z").unwrap_err(),
            r#"parsing time "2026-01-01T00:00:00.5Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".5Z" as ".000000""#
        );
    }
}
