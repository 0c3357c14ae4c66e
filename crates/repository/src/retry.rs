//! Exponential backoff of retries. Pure.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    pub(crate) max_attempts: u32,
    pub(crate) initial: Duration,
    pub(crate) max: Duration,
}

impl Backoff {
    /// The delay after a number of failed attempts; `None` after the last. A server may ask for a minimum.
    pub(crate) fn delay(&self, attempts: u32, minimum: Option<Duration>) -> Option<Duration> {
        if attempts >= self.max_attempts {
            return None;
        }
        let delay = self
            .initial
            .saturating_mul(1 << (attempts.saturating_sub(1)).min(16));
        Some(delay.max(minimum.unwrap_or_default()).min(self.max))
    }
}

/// Whether a request with this status may succeed on a retry.
pub(crate) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let seconds = Duration::from_secs;
        let backoff = Backoff {
            max_attempts: 5,
            initial: seconds(1),
            max: seconds(5),
        };
        let delays: Vec<_> = (1..=5).map(|n| backoff.delay(n, None)).collect();
        let expected = [Some(1), Some(2), Some(4), Some(5), None];
        assert_eq!(delays, expected.map(|delay| delay.map(seconds)));
        assert_eq!(backoff.delay(1, Some(seconds(3))), Some(seconds(3)));
        assert_eq!(backoff.delay(1, Some(seconds(3600))), Some(seconds(5)));
    }
}
