//! DER, as far as keys and certificates need it.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// An element with its tag and length.
pub(super) fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(contents.len() + 6);
    out.push(tag);
    let length = contents.len();
    if let Ok(short) = u8::try_from(length)
        && short < 0x80
    {
        out.push(short);
    } else {
        let bytes = length.to_be_bytes();
        let skipped = bytes.iter().take_while(|byte| **byte == 0).count();
        out.push(0x80 | u8::try_from(bytes.len() - skipped).unwrap_or(8));
        out.extend_from_slice(&bytes[skipped..]);
    }
    out.extend_from_slice(contents);
    out
}

pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

/// A non-negative integer from its big-endian bytes.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let skipped = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = &bytes[skipped..];
    if digits.first().is_none_or(|first| *first >= 0x80) {
        return element(INTEGER, &[&[0], digits].concat());
    }
    element(INTEGER, digits)
}

pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes].concat())
}

pub(super) fn null() -> Vec<u8> {
    element(0x05, &[])
}

/// Iterates over the elements of an element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'d> {
    rest: &'d [u8],
}

/// An element; `whole` includes the tag and the length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'d> {
    pub(super) tag: u8,
    pub(super) contents: &'d [u8],
    pub(super) whole: &'d [u8],
}

impl<'d> Reader<'d> {
    pub(super) fn new(bytes: &'d [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The contents of `bytes`, which must be exactly one sequence.
    pub(super) fn sequence(bytes: &'d [u8]) -> Option<Self> {
        let mut outer = Self::new(bytes);
        let inner = outer.expect(SEQUENCE)?;
        outer.rest.is_empty().then(|| Self::new(inner.contents))
    }

    pub(super) fn next(&mut self) -> Option<Element<'d>> {
        let [tag, first, ..] = *self.rest else {
            return None;
        };
        let (header, length) = if first < 0x80 {
            (2, usize::from(first))
        } else {
            let count = usize::from(first & 0x7f);
            let bytes = self
                .rest
                .get(2..2 + count)
                .filter(|_| (1..=4).contains(&count))?;
            let length = bytes
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte));
            (2 + count, length)
        };
        let whole = self.rest.get(..header.checked_add(length)?)?;
        self.rest = &self.rest[whole.len()..];
        Some(Element {
            tag,
            contents: &whole[header..],
            whole,
        })
    }

    pub(super) fn expect(&mut self, tag: u8) -> Option<Element<'d>> {
        self.next().filter(|element| element.tag == tag)
    }

    /// The next element if it has this tag.
    pub(super) fn take(&mut self, tag: u8) -> Option<Element<'d>> {
        if self.rest.first() == Some(&tag) {
            self.next()
        } else {
            None
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}
