//! The limits of requests in flight, as `--max-requests-inflight` and `--max-mutating-requests-inflight` of the real
//! server. Watches do not count, nor do administrators.

use std::sync::atomic::{AtomicUsize, Ordering};

const MAX_READS: usize = 400;
const MAX_MUTATIONS: usize = 200;

/// How many requests are being handled.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    reads: AtomicUsize,
    mutations: AtomicUsize,
}

/// A request in flight; ends when dropped.
#[derive(Debug)]
pub(super) struct Slot<'f>(&'f AtomicUsize);

impl InFlight {
    /// None if too many requests are in flight.
    pub(super) fn begin(&self, verb: &str) -> Option<Slot<'_>> {
        let (count, limit) = match verb {
            "get" | "list" | "watch" => (&self.reads, MAX_READS),
            _ => (&self.mutations, MAX_MUTATIONS),
        };
        let before = count.fetch_add(1, Ordering::Relaxed);
        let slot = Slot(count);
        (before < limit).then_some(slot)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_mutations_have_separate_limits() {
        let in_flight = InFlight::default();
        let mutations: Vec<_> = (0..MAX_MUTATIONS)
            .map(|_| in_flight.begin("update").unwrap())
            .collect();
        assert!(in_flight.begin("delete").is_none());
        assert!(in_flight.begin("list").is_some());
        drop(mutations);
        assert!(in_flight.begin("delete").is_some());
    }
}
