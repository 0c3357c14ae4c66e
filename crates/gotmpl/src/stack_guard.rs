//! Measures the stack that a recursion uses, so that it fails with an error before the stack overflows.

/// Measures from the stack position at which it was created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackGuard {
    base: usize,
    bytes: usize,
}

impl StackGuard {
    /// Allows `bytes` of stack from here.
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

/// The approximate top of the stack: the address of a local variable.
#[inline(never)]
fn here() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&marker)).addr()
}
