//! How long to wait before the next try. Pure.

use std::time::Duration;

/// How often to try, and how long to wait in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    pub(crate) tries: u32,
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Backoff {
    /// The pause after a try that failed; none if it was the last. A server may ask for a longer one.
    pub(crate) fn pause(&self, tried: u32, asked: Option<Duration>) -> Option<Duration> {
        if tried >= self.tries {
            return None;
        }
        let doubled = self
            .first
            .saturating_mul(1 << (tried.saturating_sub(1)).min(16));
        Some(doubled.max(asked.unwrap_or_default()).min(self.longest))
    }
}

/// Whether a status may be another one next time.
pub(crate) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_end() {
        let seconds = Duration::from_secs;
        let backoff = Backoff {
            tries: 5,
            first: seconds(1),
            longest: seconds(5),
        };
        let pauses: Vec<_> = (1..=5).map(|tried| backoff.pause(tried, None)).collect();
        let expected = [Some(1), Some(2), Some(4), Some(5), None];
        assert_eq!(pauses, expected.map(|pause| pause.map(seconds)));
        assert_eq!(backoff.pause(1, Some(seconds(3))), Some(seconds(3)));
        assert_eq!(backoff.pause(1, Some(seconds(3600))), Some(seconds(5)));
    }
}
