//! `encoding/base64`: the functions of `StdEncoding`.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// Go ignores the unused bits of the last digit.
const STD_ENCODING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// `base64.CorruptInputError`: the offset of the first illegal byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct CorruptInputError(pub usize);

/// `StdEncoding.EncodeToString`
pub fn encode(bytes: &[u8]) -> String {
    STD_ENCODING.encode(bytes)
}

/// `StdEncoding.DecodeString`, which skips line breaks.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, CorruptInputError> {
    let decoded = if memchr::memchr2(b'\r', b'\n', text).is_some() {
        let digits: Vec<u8> = text.iter().copied().filter(|b| !is_break(*b)).collect();
        STD_ENCODING.decode(digits)
    } else {
        STD_ENCODING.decode(text)
    };
    decoded.map_err(|_| CorruptInputError(corrupt_offset(text)))
}

/// The offset that Go reports for input that does not decode.
fn corrupt_offset(text: &[u8]) -> usize {
    let mut at = 0;
    let mut count = 0;
    while let Some(byte) = text.get(at).copied() {
        at += 1;
        match byte {
            b'\n' | b'\r' => {}
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => count = (count + 1) % 4,
            b'=' => return padding_offset(text, at, count),
            _ => return at - 1,
        }
    }
    at - count
}

/// The offset for input whose first `=` is at `at - 1`, after `count` digits of a group.
fn padding_offset(text: &[u8], at: usize, count: usize) -> usize {
    if count < 2 {
        return at - 1;
    }
    let skip_breaks = |at: usize| {
        let breaks = text[at..].iter().take_while(|byte| is_break(**byte));
        at + breaks.count()
    };
    let mut at = skip_breaks(at);
    if count == 2 {
        match text.get(at) {
            None => return text.len(),
            Some(b'=') => at = skip_breaks(at + 1),
            Some(_) => return at - 1,
        }
    }
    at
}

fn is_break(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_go_decodes() {
        for (text, expected) in [
            ("", ""),
            ("YQ==", "a"),
            ("YR==", "a"),
            ("YW\r\nI=\n", "ab"),
            ("YWJj", "abc"),
            ("YQ=\n=\n", "a"),
        ] {
            assert_eq!(
                decode(text.as_bytes()).unwrap(),
                expected.as_bytes(),
                "{text}"
            );
        }
    }

    #[test]
    fn reports_the_offset_that_go_reports() {
        for (text, offset) in [
            ("a", 0),
            ("YWJjZ", 4),
            ("YWJj!", 4),
            ("=", 0),
            ("Y===", 1),
            ("YQ=", 3),
            ("YQ=a", 2),
            ("YQ==a", 4),
            ("YWI=YWI=", 4),
            ("YQ==\nYQ==", 5),
        ] {
            assert_eq!(
                decode(text.as_bytes()),
                Err(CorruptInputError(offset)),
                "{text}"
            );
        }
    }
}
