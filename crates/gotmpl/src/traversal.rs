//! Limits on traversing values. Values can share parts and maps can contain themselves, so traversing a small value may
//! take forever.

/// Low limits, so that tests with cyclic values are fast.
const LOW_LIMITS: bool = cfg!(any(test, fuzzing));

/// The maximum nesting of values, which is that of Go's JSON and YAML decoders.
pub(crate) const MAX_DEPTH: usize = if LOW_LIMITS { 250 } else { 10_000 };

/// The maximum length of a printed value. It is also the maximum of [`Limits::value_bytes`](crate::Limits), so that a
/// truncated text never becomes a value.
pub(crate) const MAX_TEXT: usize = if LOW_LIMITS { 1 << 20 } else { 64 << 20 };

/// The maximum number of values that a traversal without output visits.
pub(crate) const MAX_VISITS: usize = if LOW_LIMITS { 1 << 16 } else { 1 << 24 };

/// The remaining visits of a traversal without output.
#[derive(Debug)]
pub(crate) struct VisitBudget {
    visits: usize,
}

impl VisitBudget {
    pub(crate) fn new() -> Self {
        Self { visits: MAX_VISITS }
    }

    /// Counts a visit; returns false if the traversal is too long or too deep.
    pub(crate) fn visit(&mut self, depth: usize) -> bool {
        self.visits = self.visits.saturating_sub(1);
        self.visits > 0 && depth <= MAX_DEPTH
    }
}

/// The error for a value that a [`VisitBudget`] is not enough for.
pub(crate) fn too_long_to_traverse() -> String {
    format!("value contains itself, or has more than {MAX_VISITS} parts or {MAX_DEPTH} levels")
}

#[cfg(test)]
mod tests;
