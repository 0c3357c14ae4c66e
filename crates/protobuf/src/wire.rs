//! The protobuf wire format: tags, numbers, length-delimited bytes, and skipping of unknown fields.

use crate::error::Fault;

/// The maximum nesting depth of the deprecated groups, which are skipped.
const MAX_GROUP_DEPTH: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Span = 2,
    GroupStart = 3,
    GroupEnd = 4,
    Fixed32 = 5,
}

impl Wire {
    pub(crate) fn expect(self, expected: Self) -> Result<(), Fault> {
        if self == expected {
            return Ok(());
        }
        Err(Fault::WrongWireType {
            found: self as u8,
            expected: expected as u8,
        })
    }
}

/// Reads from the front of some bytes.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The number and wire type of the next field; `None` at the end.
    pub(crate) fn field(&mut self) -> Result<Option<(u32, Wire)>, Fault> {
        if self.is_empty() {
            return Ok(None);
        }
        let (number, wire) = self.tag()?;
        if wire == Wire::GroupEnd {
            return Err(Fault::GroupEnd);
        }
        match u32::try_from(number) {
            Ok(positive) if positive > 0 => Ok(Some((positive, wire))),
            _ => Err(Fault::FieldNumber(number)),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "Go takes the low 32 bits too"
    )]
    fn tag(&mut self) -> Result<(i32, Wire), Fault> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Span,
            3 => Wire::GroupStart,
            4 => Wire::GroupEnd,
            5 => Wire::Fixed32,
            other => return Err(Fault::WireType(other as u8)),
        };
        Ok(((tag >> 3) as i32, wire))
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Fault> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Fault::LongVarint)
    }

    pub(crate) fn double(&mut self) -> Result<f64, Fault> {
        self.take().map(f64::from_le_bytes)
    }

    /// Length-delimited bytes.
    pub(crate) fn span(&mut self) -> Result<&'a [u8], Fault> {
        let length = usize::try_from(self.varint()?).map_err(|_| Fault::Truncated)?;
        let (span, rest) = self.rest.split_at_checked(length).ok_or(Fault::Truncated)?;
        self.rest = rest;
        Ok(span)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Fault::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Skips the value of an unknown field.
    pub(crate) fn skip(&mut self, wire: Wire) -> Result<(), Fault> {
        self.skip_within(wire, 0)
    }

    fn skip_within(&mut self, wire: Wire, depth: usize) -> Result<(), Fault> {
        match wire {
            Wire::Varint => self.varint().map(drop),
            Wire::Fixed64 => self.take::<8>().map(drop),
            Wire::Span => self.span().map(drop),
            Wire::Fixed32 => self.take::<4>().map(drop),
            Wire::GroupEnd => Err(Fault::GroupEnd),
            Wire::GroupStart if depth >= MAX_GROUP_DEPTH => Err(Fault::TooDeep),
            Wire::GroupStart => loop {
                match self.tag()? {
                    (_, Wire::GroupEnd) => return Ok(()),
                    (_, inner) => self.skip_within(inner, depth.saturating_add(1))?,
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_varints_of_more_than_ten_bytes() {
        assert_eq!(Reader::new(&[0xac, 0x02]).varint(), Ok(300));
        assert_eq!(Reader::new(&[0xff; 9]).varint(), Err(Fault::Truncated));
        assert_eq!(Reader::new(&[0xff; 11]).varint(), Err(Fault::LongVarint));
    }

    #[test]
    fn rejects_lengths_beyond_the_end() {
        let huge = [
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 7,
        ];
        assert_eq!(Reader::new(&huge).span(), Err(Fault::Truncated));
        assert_eq!(Reader::new(&[3, 1, 2]).span(), Err(Fault::Truncated));
        assert_eq!(Reader::new(&[2, 1, 2]).span(), Ok(&[1, 2][..]));
    }

    #[test]
    fn skips_groups_up_to_a_depth() {
        let mut reader = Reader::new(&[0x0b, 0x10, 0x05, 0x0c, 0x18]);
        assert_eq!(reader.field(), Ok(Some((1, Wire::GroupStart))));
        assert_eq!(reader.skip(Wire::GroupStart), Ok(()));
        assert_eq!(reader.rest, [0x18]);
        assert_eq!(
            Reader::new(&[0x0b; 1000]).skip(Wire::GroupStart),
            Err(Fault::TooDeep)
        );
        assert_eq!(Reader::new(&[0x0c]).field(), Err(Fault::GroupEnd));
    }
}
