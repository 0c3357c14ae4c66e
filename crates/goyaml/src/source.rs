//! The bytes of a document as text: encoding, forbidden characters, and how much of it go-yaml has seen when.
//!
//! go-yaml reads its input in pieces of 512 bytes and checks each piece as a whole, so a forbidden character is
//! reported before a mistake that stands a little earlier in the same piece. Most texts have nothing odd in
//! them; for the others [`Source::pieces`] tells where the pieces end.

use std::borrow::Cow;

const PIECE: usize = 512;

/// A text that is ready to be scanned.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// All characters before the first forbidden one.
    pub(crate) text: Cow<'a, str>,
    /// Absent if the text has nothing odd: no forbidden character, no line break but `\n`, no byte order mark
    /// inside.
    pub(crate) pieces: Option<Pieces>,
}

/// How the text came in.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// Where each piece ends in the text.
    pub(crate) ends: Vec<usize>,
    /// What is wrong with the piece after the last one; none means that the text ends there.
    pub(crate) fault: Option<&'static str>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let body = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let text = match std::str::from_utf8(body) {
            Ok(text) => match oddity(body) {
                Oddity::None => Some(Cow::Borrowed(text)),
                // Both kinds of line end mean the same.
                Oddity::Returns => Some(Cow::Owned(text.replace("\r\n", "\n"))),
                Oddity::Other => None,
            },
            Err(_) => None,
        };
        if let Some(text) = text {
            return Self { text, pieces: None };
        }
        Self::in_pieces(bytes)
    }

    fn in_pieces(bytes: &'a [u8]) -> Self {
        let (encoding, mark) = match bytes {
            [0xFF, 0xFE, ..] => (Encoding::Utf16([0, 1]), 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16([1, 0]), 2),
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        };
        let mut text = String::with_capacity(bytes.len());
        let mut ends = Vec::new();
        let mut at = mark;
        let mut piece_end = PIECE.min(bytes.len());
        let fault = loop {
            match encoding.decode(&bytes[at..piece_end]) {
                Step::Character(c, width) => {
                    text.push(c);
                    at += width;
                }
                Step::Fault(problem) => break Some(problem),
                Step::Incomplete(problem) => {
                    ends.push(text.len());
                    if piece_end == bytes.len() {
                        break (at < piece_end).then_some(problem);
                    }
                    piece_end = (at + PIECE).min(bytes.len());
                }
            }
        };
        // A piece that holds a fault is refused as a whole, but what came before it in the same piece must
        // not be seen either.
        if fault.is_some() {
            text.truncate(ends.last().copied().unwrap_or(0));
        }
        Self {
            text: Cow::Owned(text),
            pieces: Some(Pieces { ends, fault }),
        }
    }
}

enum Step {
    Character(char, usize),
    /// More bytes are needed; the problem if there are none.
    Incomplete(&'static str),
    Fault(&'static str),
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    /// Where the low and the high byte stand.
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
enum Oddity {
    None,
    /// Some lines end with `\r\n`.
    Returns,
    /// Another line break than `\n`, or a character that needs a second look.
    Other,
}

/// The worst that there is in valid UTF-8.
fn oddity(text: &[u8]) -> Oddity {
    const STEP: usize = 64;
    let mut worst = Oddity::None;
    for (index, chunk) in text.chunks(STEP).enumerate() {
        if has_odd_or_wide(chunk) {
            worst = worst.max(oddity_in(text, index * STEP, chunk));
            if worst == Oddity::Other {
                break;
            }
        }
    }
    worst
}

/// Whether a byte is a control character or not ASCII. Written so that the compiler can use vectors.
fn has_odd_or_wide(chunk: &[u8]) -> bool {
    let mut odd = 0_u8;
    for &byte in chunk {
        let control = u8::from(byte < 0x20) & u8::from(byte != b'\n') & u8::from(byte != b'\t');
        odd |= control | u8::from(byte >= 0x7F);
    }
    odd != 0
}

fn oddity_in(text: &[u8], start: usize, chunk: &[u8]) -> Oddity {
    let each = chunk.iter().enumerate().map(|(at, &byte)| match byte {
        b'\n' | b'\t' => Oddity::None,
        b'\r' if text.get(start + at + 1) == Some(&b'\n') => Oddity::Returns,
        0x00..=0x1F | 0x7F => Oddity::Other,
        0xC2 | 0xE2 | 0xEF if is_odd_sequence(&text[start + at..]) => Oddity::Other,
        _ => Oddity::None,
    });
    each.max().unwrap_or(Oddity::None)
}

/// C1 controls, the line breaks NEL, LS and PS, the byte order mark and the two noncharacters at the end of the
/// first plane.
fn is_odd_sequence(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xC2, 0x80..=0x9F, ..]
            | [0xE2, 0x80, 0xA8 | 0xA9, ..]
            | [0xEF, 0xBB, 0xBF, ..]
            | [0xEF, 0xBF, 0xBE | 0xBF, ..]
    )
}
