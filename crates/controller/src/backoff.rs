//! Exponential backoff: the delay doubles with each failure, up to a maximum.

use std::time::Duration;

/// The first and the longest delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub initial: Duration,
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_mins(5),
        }
    }
}

impl Backoff {
    /// The delay after this many consecutive failures.
    pub fn delay(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(30);
        self.initial.saturating_mul(1 << doublings).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_five_minutes() {
        let seconds: Vec<u64> = [1, 2, 3, 9, 10, 400]
            .map(|failures| Backoff::default().delay(failures).as_secs())
            .to_vec();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }
}
