//! How far a walk through a value goes. Values can share parts, and a map can hold itself: a small one may have no end.

/// Whether walks end soon, so that tests with endless values are quick.
const SOON: bool = cfg!(any(test, fuzzing));

/// How deep a value may nest before a walk over it gives up. Real data is never that deep.
pub(crate) const MAX_DEPTH: usize = 250;

/// The longest text that any value is printed as. A string cannot be longer, see
/// [`Limits::value_bytes`](crate::Limits), so what is cut here never passes for whole.
pub(crate) const MAX_TEXT: usize = if SOON { 1 << 20 } else { 64 << 20 };

/// How many values a walk without text may visit.
pub(crate) const MAX_VISITS: usize = if SOON { 1 << 16 } else { 1 << 24 };

/// What is left of a walk that makes no text.
#[derive(Debug)]
pub(crate) struct Walk {
    visits: usize,
}

impl Walk {
    pub(crate) fn new() -> Self {
        Self { visits: MAX_VISITS }
    }

    /// Takes a step; false when the walk was too long or is too deep.
    pub(crate) fn goes_on(&mut self, depth: usize) -> bool {
        self.visits = self.visits.saturating_sub(1);
        self.visits > 0 && depth <= MAX_DEPTH
    }
}

#[cfg(test)]
mod tests;
