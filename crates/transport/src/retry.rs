//! Exponential backoff of retries. Pure.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    pub max_attempts: u32,
    pub initial: Duration,
    pub max: Duration,
}

/// Whether a failed request may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    /// After the backoff, or after the `Retry-After` of the server
    After(Option<Duration>),
}

impl Backoff {
    /// The delay before a request is repeated; `None` if it is not.
    pub fn delay_for(&self, attempts: u32, retry: Retry) -> Option<Duration> {
        match retry {
            Retry::Never => None,
            Retry::After(minimum) => self.delay(attempts, minimum),
        }
    }

    /// The delay after a number of failed attempts; `None` after the last. A server may ask for a minimum.
    pub fn delay(&self, attempts: u32, minimum: Option<Duration>) -> Option<Duration> {
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
pub fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The `Retry-After` of a response, if it is a number of seconds.
pub fn retry_after(headers: &reqwest::header::HeaderMap) -> Option<Duration> {
    let value = headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
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
