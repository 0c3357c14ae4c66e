//! Tells how much of the thread's stack a recursion has taken, so that it can stop with an error in time.

/// Measures from the place where it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackGuard {
    base: usize,
    bytes: usize,
}

impl StackGuard {
    /// Allows `bytes` of stack from here on.
    #[inline(never)]
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            base: here(),
            bytes,
        }
    }

    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.base.abs_diff(here()) > self.bytes
    }
}

/// Roughly where the stack ends now: the address of something on it.
#[inline(never)]
fn here() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&marker)).addr()
}
