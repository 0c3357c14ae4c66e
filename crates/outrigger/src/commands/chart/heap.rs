//! Lets the heap of a render grow in steps that the kernel backs with huge pages.

use std::hint::black_box;

/// The allocator maps at least twice the alignment for it, 8 MiB.
#[repr(align(4_194_304))]
struct Aligned {
    _untouched: u8,
}

/// Makes the next steps in which the allocator maps memory multiples of 2 MiB.
///
/// By default they are 2, 2.5, 3 and 3.5 MiB, and the kernel aligns mappings to huge pages only if their size is a
/// multiple: a render of a large chart would take thousands of page faults. After a step of 8 MiB come 10, 12 and 14 MiB.
/// The allocation is never touched or freed, so it takes address space only, and what is allocated shares as few pages as
/// possible.
pub(super) fn grow_in_huge_pages() {
    std::mem::forget(black_box(Vec::<Aligned>::with_capacity(1)));
}
