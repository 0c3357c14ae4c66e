//! How much room Go's `append` makes. Sprig's `slice` reaches beyond the length of a list into the room behind it.

use super::Element;

/// The sizes of memory that Go's allocator hands out, in bytes. Beyond them it hands out whole pages.
const SIZES: [usize; 67] = [
    8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352,
    384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048,
    2304, 2688, 3072, 3200, 3456, 4096, 4864, 5120, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728,
    10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672,
];
const LARGEST: usize = 32768;
const PAGE: usize = 8192;

/// Memory with pointers has a header if it is larger than this.
const HEADERLESS: usize = 512;
const HEADER: usize = 8;

/// The capacity after a slice with room for `capacity` elements has grown to `length`.
pub(crate) fn appended(element: Element, capacity: usize, length: usize) -> usize {
    if length <= capacity {
        return capacity;
    }
    let wanted = if length > capacity * 2 {
        length
    } else if capacity < 256 {
        capacity * 2
    } else {
        let mut wanted = capacity;
        while wanted < length {
            wanted += (wanted + 3 * 256) / 4;
        }
        wanted
    };
    let size = element_size(element);
    memory(
        wanted * size,
        element != Element::Int && element != Element::Byte,
    ) / size
}

/// The capacity of a slice that was empty, and then got `length` elements, one by one.
pub(crate) fn one_by_one(element: Element, length: usize) -> usize {
    let mut capacity = 0;
    while capacity < length {
        capacity = appended(element, capacity, capacity + 1);
    }
    capacity
}

fn element_size(element: Element) -> usize {
    match element {
        Element::Any | Element::String => 16,
        Element::Int | Element::Map => 8,
        Element::Byte => 1,
        Element::List => 24,
    }
}

/// What the allocator gives who asks for so many bytes.
fn memory(bytes: usize, has_pointers: bool) -> usize {
    let header = if has_pointers && bytes > HEADERLESS {
        HEADER
    } else {
        0
    };
    let asked = bytes + header;
    if asked <= LARGEST - if has_pointers { HEADER } else { 0 } {
        let fits = SIZES.iter().find(|size| **size >= asked);
        return fits.copied().unwrap_or(LARGEST) - header;
    }
    bytes.next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_as_in_go() {
        let grown = |element| [0, 1, 3, 5, 9, 17, 33].map(|length| one_by_one(element, length));
        assert_eq!(grown(Element::Any), [0, 1, 4, 8, 16, 32, 71]);
        assert_eq!(grown(Element::Int), [0, 1, 4, 8, 16, 32, 64]);
        // `append (list 1 2 3 4 5) 6`, `append` to eight, and `prepend` to one that is full.
        assert_eq!(appended(Element::Any, 5, 6), 10);
        assert_eq!(appended(Element::Any, 16, 17), 32);
        assert_eq!(appended(Element::Any, 17, 18), 35);
        assert_eq!(appended(Element::Any, 1, 17), 18);
        assert_eq!(appended(Element::String, 10, 17), 20);
    }
}
