//! How much a template may take before it is stopped.

use crate::walk::MAX_TEXT;

/// What a run may take. The defaults are far above what real charts need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How often a template may be open within itself through `include`; Helm's number.
    pub include_depth: u32,
    /// How deep templates may call each other; Go's number.
    pub template_depth: u32,
    /// Stack that nested templates and expressions may take. The default suits a thread with 2 MiB, and leaves room
    /// for functions that walk into deep values. A nested `include` takes 1.5 to 4 KiB: to get as deep as Helm
    /// goes, run the engine on a thread with a large stack and allow most of it.
    pub stack_bytes: usize,
    /// Text that one file may print.
    pub output_bytes: usize,
    /// The longest string, and the longest list counted as 24 bytes per item. More than 64 MiB is never allowed.
    pub value_bytes: usize,
    /// Bytes of all large values that one file may make.
    pub total_bytes: usize,
    /// Statements and calls of one file.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            include_depth: 1000,
            template_depth: 100_000,
            stack_bytes: 1 << 20,
            output_bytes: 256 << 20,
            value_bytes: MAX_TEXT,
            total_bytes: 1 << 30,
            steps: 100_000_000,
        }
    }
}
