//! Seconds that clients send, converted as Go does.

use jiff::SignedDuration;

/// `time.Duration(seconds) * time.Second`: nanoseconds in 64 bits, which wrap around.
pub(crate) fn go_seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_nanos(seconds.wrapping_mul(1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_around_like_go() {
        assert_eq!(go_seconds(30), SignedDuration::from_secs(30));
        assert_eq!(go_seconds(i64::MAX), SignedDuration::from_secs(-1));
        assert_eq!(go_seconds(i64::MIN), SignedDuration::ZERO);
    }
}
