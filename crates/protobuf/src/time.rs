//! `metav1.Time` and `metav1.MicroTime`, in UTC.

use jiff::Timestamp;
use serde_json::Value;

use crate::error::Fault;

/// Go's zero time, the first second of the year 1.
const UNSET: i64 = -62_135_596_800;

/// A `Time`, which has no fractions of a second.
pub(crate) fn seconds(seconds: Option<i64>) -> Result<Value, Fault> {
    format(seconds, 0, "%Y-%m-%dT%H:%M:%SZ")
}

/// A `MicroTime`. Nanoseconds are truncated towards zero.
pub(crate) fn micros(seconds: Option<i64>, nanoseconds: i64) -> Result<Value, Fault> {
    format(
        seconds,
        nanoseconds.saturating_sub(nanoseconds % 1000),
        "%Y-%m-%dT%H:%M:%S.%6fZ",
    )
}

fn format(seconds: Option<i64>, nanoseconds: i64, format: &str) -> Result<Value, Fault> {
    let Some(seconds) = seconds else {
        return Ok(Value::Null);
    };
    let nanoseconds = i128::from(seconds)
        .saturating_mul(1_000_000_000)
        .saturating_add(i128::from(nanoseconds));
    if nanoseconds == i128::from(UNSET).saturating_mul(1_000_000_000) {
        return Ok(Value::Null);
    }
    let time = Timestamp::from_nanosecond(nanoseconds).map_err(|_| Fault::Time)?;
    let text = time.strftime(format).to_string();
    if text.starts_with('-') {
        Err(Fault::Time)
    } else {
        Ok(Value::String(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_times_in_utc_and_the_zero_time_as_null() {
        assert_eq!(
            seconds(Some(1_700_000_000)).unwrap(),
            "2023-11-14T22:13:20Z"
        );
        assert_eq!(seconds(Some(UNSET)).unwrap(), Value::Null);
        assert_eq!(seconds(None).unwrap(), Value::Null);
        assert_eq!(seconds(Some(UNSET + 1)).unwrap(), "0001-01-01T00:00:01Z");
        assert_eq!(
            micros(Some(1), 123_456_789).unwrap(),
            "1970-01-01T00:00:01.123456Z"
        );
        assert_eq!(
            micros(Some(1), -1_999).unwrap(),
            "1970-01-01T00:00:00.999999Z"
        );
        assert_eq!(
            micros(Some(UNSET), 1_000).unwrap(),
            "0001-01-01T00:00:00.000001Z"
        );
    }

    #[test]
    fn rejects_times_out_of_range() {
        for time in [i64::MIN, i64::MAX, -62_167_219_201, 253_402_300_800] {
            assert_eq!(seconds(Some(time)), Err(Fault::Time), "{time}");
        }
    }
}
