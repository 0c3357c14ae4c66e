//! `growslice`: the capacity after Go's `append`, which is visible since Sprig's `slice` can extend a slice up to its
//! capacity.

use super::Element;

/// The size classes of Go's allocator, in bytes. Larger allocations are whole pages.
const SIZE_CLASSES: [usize; 67] = [
    8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352,
    384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048,
    2304, 2688, 3072, 3200, 3456, 4096, 4864, 5120, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728,
    10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672,
];
const MAX_SMALL_SIZE: usize = 32768;
const PAGE_SIZE: usize = 8192;

/// Allocations with pointers that are larger than this have a header.
const MIN_SIZE_FOR_HEADER: usize = 512;
const HEADER: usize = 8;

/// The capacity of a slice of the given capacity after `append` up to `length` elements.
pub(crate) fn append_capacity(element: Element, capacity: usize, length: usize) -> usize {
    if length <= capacity {
        return capacity;
    }
    let new_capacity = if length > capacity * 2 {
        length
    } else if capacity < 256 {
        capacity * 2
    } else {
        let mut new_capacity = capacity;
        while new_capacity < length {
            new_capacity += (new_capacity + 3 * 256) / 4;
        }
        new_capacity
    };
    let size = element_size(element);
    round_up_size(
        new_capacity * size,
        element != Element::Int && element != Element::Byte,
    ) / size
}

/// The capacity of a slice to which `length` elements were appended one by one.
pub(crate) fn grown_capacity(element: Element, length: usize) -> usize {
    let mut capacity = 0;
    while capacity < length {
        capacity = append_capacity(element, capacity, capacity + 1);
    }
    capacity
}

fn element_size(element: Element) -> usize {
    match element {
        Element::Any | Element::String => 16,
        Element::Int | Element::Map | Element::Pointers(_) => 8,
        Element::Byte => 1,
        Element::List => 24,
    }
}

/// `roundupsize`: the size of an allocation of `bytes`.
fn round_up_size(bytes: usize, has_pointers: bool) -> usize {
    let header = if has_pointers && bytes > MIN_SIZE_FOR_HEADER {
        HEADER
    } else {
        0
    };
    let requested = bytes + header;
    if requested <= MAX_SMALL_SIZE - if has_pointers { HEADER } else { 0 } {
        let fits = SIZE_CLASSES.iter().find(|size| **size >= requested);
        return fits.copied().unwrap_or(MAX_SMALL_SIZE) - header;
    }
    bytes.next_multiple_of(PAGE_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_grow_like_in_go() {
        let grown = |element| [0, 1, 3, 5, 9, 17, 33].map(|length| grown_capacity(element, length));
        assert_eq!(grown(Element::Any), [0, 1, 4, 8, 16, 32, 71]);
        assert_eq!(grown(Element::Int), [0, 1, 4, 8, 16, 32, 64]);
        // `append (list 1 2 3 4 5) 6`, `append` to a full slice of 16 or 17, and `prepend`.
        assert_eq!(append_capacity(Element::Any, 5, 6), 10);
        assert_eq!(append_capacity(Element::Any, 16, 17), 32);
        assert_eq!(append_capacity(Element::Any, 17, 18), 35);
        assert_eq!(append_capacity(Element::Any, 1, 17), 18);
        assert_eq!(append_capacity(Element::String, 10, 17), 20);
    }
}
