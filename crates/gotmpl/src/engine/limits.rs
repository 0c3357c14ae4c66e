//! Limits on the execution of templates.

use crate::traversal::MAX_TEXT;

/// Limits on one render. The defaults are far above what real charts need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The maximum recursion of `include` for one template; Helm's limit.
    pub include_depth: u32,
    /// The maximum depth of template invocations; Go's limit.
    pub template_depth: u32,
    /// The stack for nested templates and expressions. A nested `include` takes 1.5 to 4 KiB. The engine allocates a
    /// stack if the thread has less left; unused pages are never committed.
    pub stack_bytes: usize,
    /// The maximum output of all files.
    pub output_bytes: usize,
    /// The maximum size of a string, and of a list at 24 bytes per item. Never more than 64 MiB.
    pub value_bytes: usize,
    /// The maximum memory of all values that exist at the same time.
    pub memory_bytes: usize,
    /// The maximum number of statements and calls of all files.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            include_depth: 1000,
            template_depth: 100_000,
            stack_bytes: 16 << 20,
            output_bytes: 256 << 20,
            value_bytes: MAX_TEXT,
            memory_bytes: 1 << 30,
            steps: 1_000_000_000,
        }
    }
}
