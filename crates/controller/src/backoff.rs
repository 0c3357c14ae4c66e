//! How long to wait before the next attempt: twice as long each time, up to a limit.

use std::time::Duration;

/// First and longest pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_mins(5),
        }
    }
}

impl Backoff {
    /// The pause after so many failed attempts in a row.
    pub fn pause(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(30);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let seconds: Vec<u64> = [1, 2, 3, 9, 10, 400]
            .map(|attempts| Backoff::default().pause(attempts).as_secs())
            .to_vec();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }
}
