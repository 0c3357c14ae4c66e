//! Go strings: immutable bytes; short strings are stored inline.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::memory;

/// The maximum length of an inline string, chosen so that strings and values take 24 bytes.
const INLINE: usize = 22;

/// The reference counts of a string on the heap, and the header of the allocator.
const HEADER: usize = 24;

/// An immutable byte string. Go strings need not be UTF-8: `trunc` may cut a character in two.
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    Inline(u8, [u8; INLINE]),
    Heap(Heap),
}

/// Bytes that are counted as long as they exist.
#[derive(Clone)]
struct Heap(Rc<[u8]>);

impl Heap {
    fn new(bytes: Rc<[u8]>) -> Self {
        memory::allocated(bytes.len() + HEADER);
        Self(bytes)
    }
}

impl Drop for Heap {
    #[inline]
    fn drop(&mut self) {
        if Rc::strong_count(&self.0) == 1 {
            memory::freed(self.0.len() + HEADER);
        }
    }
}

impl Str {
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(len, bytes) => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Repr::Heap(bytes) => &bytes.0,
        }
    }

    /// The text, with U+FFFD where the bytes are not UTF-8.
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }

    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Inline(len, _) => usize::from(*len),
            Repr::Heap(bytes) => bytes.0.len(),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An inline string, if `bytes` are short enough.
    #[inline]
    fn inline(bytes: &[u8]) -> Option<Self> {
        let mut buffer = [0; INLINE];
        buffer.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let len = u8::try_from(bytes.len()).ok()?;
        Some(Self(Repr::Inline(len, buffer)))
    }
}

impl Default for Str {
    fn default() -> Self {
        Self(Repr::Inline(0, [0; INLINE]))
    }
}

impl From<&[u8]> for Str {
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        Self::inline(bytes).unwrap_or_else(|| Self(Repr::Heap(Heap::new(bytes.into()))))
    }
}

impl From<&str> for Str {
    #[inline]
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}

impl From<Vec<u8>> for Str {
    fn from(bytes: Vec<u8>) -> Self {
        Self::inline(&bytes).unwrap_or_else(|| Self(Repr::Heap(Heap::new(bytes.into()))))
    }
}

impl From<Cow<'_, str>> for Str {
    fn from(text: Cow<'_, str>) -> Self {
        text.as_bytes().into()
    }
}

impl PartialEq for Str {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str {}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preserves_bytes_at_every_length() {
        for len in 0..=3 * INLINE {
            let bytes: Vec<u8> = (0..=255).cycle().take(len).collect();
            let text = Str::from(bytes.as_slice());
            assert_eq!(text.as_bytes(), bytes, "{len} bytes");
            assert_eq!(text, Str::from(bytes.clone()));
            assert_eq!((text.len(), text.is_empty()), (len, len == 0));
        }
    }

    #[test]
    fn a_string_takes_24_bytes() {
        assert_eq!(size_of::<Str>(), 24);
    }
}
