//! Times as the API shows them: in UTC, to the second or to the microsecond.

use jiff::Timestamp;
use serde_json::Value;

use super::error::Fault;

/// The first second of the year 1, which Go takes for "not set".
const UNSET: i64 = -62_135_596_800;

/// A `Time`. Fractions of a second never reach it.
pub(super) fn seconds(seconds: Option<i64>) -> Result<Value, Fault> {
    shown(seconds, 0, "%Y-%m-%dT%H:%M:%SZ")
}

/// A `MicroTime`. Nanoseconds are cut, towards zero.
pub(super) fn micros(seconds: Option<i64>, nanoseconds: i64) -> Result<Value, Fault> {
    shown(seconds, nanoseconds / 1000 * 1000, "%Y-%m-%dT%H:%M:%S.%6fZ")
}

fn shown(seconds: Option<i64>, nanoseconds: i64, format: &str) -> Result<Value, Fault> {
    let Some(seconds) = seconds else {
        return Ok(Value::Null);
    };
    let nanoseconds = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    if nanoseconds == i128::from(UNSET) * 1_000_000_000 {
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
    fn times_are_shown_in_utc_and_the_first_is_none() {
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
    fn times_that_nobody_can_read_are_refused() {
        for time in [i64::MIN, i64::MAX, -62_167_219_201, 253_402_300_800] {
            assert_eq!(seconds(Some(time)), Err(Fault::Time), "{time}");
        }
    }
}
