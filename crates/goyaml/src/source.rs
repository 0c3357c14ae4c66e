//! The input as text: encoding, forbidden characters, and the chunks in which go-yaml reads it.
//!
//! go-yaml reads its input in chunks of 512 bytes and validates each chunk as a whole, so that it reports a forbidden
//! character before a syntax error earlier in the same chunk. Most inputs are regular; for the others [`Source::chunks`]
//! contains the ends of the chunks.

use std::borrow::Cow;

const CHUNK: usize = 512;

/// The decoded input of the scanner.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// The text before the first forbidden character.
    pub(crate) text: Cow<'a, str>,
    /// `None` if the input is regular: no forbidden characters, no line breaks other than `\n`, and no byte order mark
    /// except at the start.
    pub(crate) chunks: Option<Chunks>,
}

/// The chunks in which go-yaml reads the input.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// The end of each chunk in the text.
    pub(crate) ends: Vec<usize>,
    /// The error in the chunk after the last one, if any.
    pub(crate) fault: Option<&'static str>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let body = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let text = match std::str::from_utf8(body) {
            Ok(text) => match irregularity(body) {
                Irregularity::None => Some(Cow::Borrowed(text)),
                // Both line endings are equivalent.
                Irregularity::Returns => Some(Cow::Owned(text.replace("\r\n", "\n"))),
                Irregularity::Other => None,
            },
            Err(_) => None,
        };
        if let Some(text) = text {
            return Self { text, chunks: None };
        }
        Self::in_chunks(bytes)
    }

    fn in_chunks(bytes: &'a [u8]) -> Self {
        let (encoding, mark) = match bytes {
            [0xFF, 0xFE, ..] => (Encoding::Utf16([0, 1]), 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16([1, 0]), 2),
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        };
        let mut text = String::with_capacity(bytes.len());
        let mut ends = Vec::new();
        let mut at = mark;
        let mut chunk_end = CHUNK.min(bytes.len());
        let fault = loop {
            match encoding.decode(&bytes[at..chunk_end]) {
                Step::Character(c, width) => {
                    text.push(c);
                    at += width;
                }
                Step::Fault(problem) => break Some(problem),
                Step::Incomplete(problem) => {
                    ends.push(text.len());
                    if chunk_end == bytes.len() {
                        break (at < chunk_end).then_some(problem);
                    }
                    chunk_end = (at + CHUNK).min(bytes.len());
                }
            }
        };
        // go-yaml rejects the whole chunk, so the scanner must not see the valid part of it.
        if fault.is_some() {
            text.truncate(ends.last().copied().unwrap_or(0));
        }
        Self {
            text: Cow::Owned(text),
            chunks: Some(Chunks { ends, fault }),
        }
    }
}

enum Step {
    Character(char, usize),
    /// More bytes are needed; contains the error if there are none.
    Incomplete(&'static str),
    Fault(&'static str),
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    /// The offsets of the low and the high byte.
    Utf16([usize; 2]),
}

impl Encoding {
    fn decode(self, bytes: &[u8]) -> Step {
        let step = match self {
            Self::Utf8 => decode_utf8(bytes),
            Self::Utf16(order) => decode_utf16(bytes, order),
        };
        match step {
            Step::Character(c, _) if !is_allowed(c) => {
                Step::Fault("control characters are not allowed")
            }
            step => step,
        }
    }
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
}

fn decode_utf8(bytes: &[u8]) -> Step {
    const INCOMPLETE: Step = Step::Incomplete("incomplete UTF-8 octet sequence");
    let Some(&first) = bytes.first() else {
        return INCOMPLETE;
    };
    let (width, start) = match first {
        0x00..=0x7F => (1, first & 0x7F),
        0xC0..=0xDF => (2, first & 0x1F),
        0xE0..=0xEF => (3, first & 0x0F),
        0xF0..=0xF7 => (4, first & 0x07),
        _ => return Step::Fault("invalid leading UTF-8 octet"),
    };
    if bytes.len() < width {
        return INCOMPLETE;
    }
    let mut value = u32::from(start);
    for &octet in &bytes[1..width] {
        if octet & 0xC0 != 0x80 {
            return Step::Fault("invalid trailing UTF-8 octet");
        }
        value = (value << 6) + u32::from(octet & 0x3F);
    }
    let shortest = [0, 0x80, 0x800, 0x10000][width - 1];
    if value < shortest {
        return Step::Fault("invalid length of a UTF-8 sequence");
    }
    match char::from_u32(value) {
        Some(c) => Step::Character(c, width),
        None => Step::Fault("invalid Unicode character"),
    }
}

fn decode_utf16(bytes: &[u8], [low, high]: [usize; 2]) -> Step {
    let unit = |at: usize| u32::from(bytes[at + low]) + (u32::from(bytes[at + high]) << 8);
    if bytes.len() < 2 {
        return Step::Incomplete("incomplete UTF-16 character");
    }
    let first = unit(0);
    if first & 0xFC00 == 0xDC00 {
        return Step::Fault("unexpected low surrogate area");
    }
    if first & 0xFC00 != 0xD800 {
        let c = char::from_u32(first).unwrap_or('\0');
        return Step::Character(c, 2);
    }
    if bytes.len() < 4 {
        return Step::Incomplete("incomplete UTF-16 surrogate pair");
    }
    let second = unit(2);
    if second & 0xFC00 != 0xDC00 {
        return Step::Fault("expected low surrogate area");
    }
    let value = 0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF);
    Step::Character(char::from_u32(value).unwrap_or('\0'), 4)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Irregularity {
    None,
    /// Some lines end with `\r\n`.
    Returns,
    /// Other line breaks than `\n`, or characters that need validation.
    Other,
}

/// The most irregular character of valid UTF-8.
fn irregularity(text: &[u8]) -> Irregularity {
    const STEP: usize = 64;
    let mut worst = Irregularity::None;
    for (index, chunk) in text.chunks(STEP).enumerate() {
        if has_control_or_non_ascii(chunk) {
            worst = worst.max(irregularity_in(text, index * STEP, chunk));
            if worst == Irregularity::Other {
                break;
            }
        }
    }
    worst
}

/// Whether a byte is a control character or not ASCII. Written for auto-vectorization.
fn has_control_or_non_ascii(chunk: &[u8]) -> bool {
    let mut odd = 0_u8;
    for &byte in chunk {
        let control = u8::from(byte < 0x20) & u8::from(byte != b'\n') & u8::from(byte != b'\t');
        odd |= control | u8::from(byte >= 0x7F);
    }
    odd != 0
}

fn irregularity_in(text: &[u8], start: usize, chunk: &[u8]) -> Irregularity {
    let each = chunk.iter().enumerate().map(|(at, &byte)| match byte {
        b'\n' | b'\t' => Irregularity::None,
        b'\r' if text.get(start + at + 1) == Some(&b'\n') => Irregularity::Returns,
        0x00..=0x1F | 0x7F => Irregularity::Other,
        0xC2 | 0xE2 | 0xEF if is_irregular_sequence(&text[start + at..]) => Irregularity::Other,
        _ => Irregularity::None,
    });
    each.max().unwrap_or(Irregularity::None)
}

/// C1 controls, the line breaks NEL, LS and PS, the byte order mark and the two noncharacters at the end of the
/// first plane.
fn is_irregular_sequence(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xC2, 0x80..=0x9F, ..]
            | [0xE2, 0x80, 0xA8 | 0xA9, ..]
            | [0xEF, 0xBB, 0xBF, ..]
            | [0xEF, 0xBF, 0xBE | 0xBF, ..]
    )
}
