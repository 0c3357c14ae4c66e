//! The functions of `path` for text and for bytes that need not be UTF-8.

use std::ops::Range;

/// A path as text, or as bytes that need not be UTF-8.
pub(super) trait SlashPath: ToOwned + 'static {
    const DOT: &'static Self;
    const ROOT: &'static Self;

    fn bytes(&self) -> &[u8];
    fn slice(&self, range: Range<usize>) -> &Self;
    /// The parts joined by slashes, with a slash in front if `is_rooted`.
    fn join(parts: &[&Self], is_rooted: bool) -> Self::Owned;
    fn parts(&self) -> impl Iterator<Item = &Self>;
}

impl SlashPath for str {
    const DOT: &'static Self = ".";
    const ROOT: &'static Self = "/";

    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn slice(&self, range: Range<usize>) -> &Self {
        &self[range]
    }

    fn join(parts: &[&Self], is_rooted: bool) -> String {
        let joined = parts.join("/");
        if is_rooted {
            format!("/{joined}")
        } else {
            joined
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.split('/')
    }
}

impl SlashPath for [u8] {
    const DOT: &'static Self = b".";
    const ROOT: &'static Self = b"/";

    fn bytes(&self) -> &[u8] {
        self
    }

    fn slice(&self, range: Range<usize>) -> &Self {
        &self[range]
    }

    fn join(parts: &[&Self], is_rooted: bool) -> Vec<u8> {
        let joined = parts.join(&b'/');
        if is_rooted {
            [b"/", &joined[..]].concat()
        } else {
            joined
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.split(|byte| *byte == b'/')
    }
}

pub(super) fn base<P: SlashPath + ?Sized>(path: &P) -> &P {
    let bytes = path.bytes();
    if bytes.is_empty() {
        return P::DOT;
    }
    match bytes.iter().rposition(|byte| *byte != b'/') {
        Some(last) => path.slice(after_last_slash(&bytes[..=last])..last + 1),
        None => P::ROOT,
    }
}

pub(super) fn dir<P: SlashPath + ?Sized>(path: &P) -> P::Owned {
    clean(path.slice(0..after_last_slash(path.bytes())))
}

pub(super) fn ext<P: SlashPath + ?Sized>(path: &P) -> &P {
    let bytes = path.bytes();
    let start = after_last_slash(bytes);
    let dot = bytes[start..].iter().rposition(|byte| *byte == b'.');
    path.slice(dot.map_or(bytes.len(), |dot| start + dot)..bytes.len())
}

pub(super) fn is_abs<P: SlashPath + ?Sized>(path: &P) -> bool {
    path.bytes().starts_with(b"/")
}

pub(super) fn clean<P: SlashPath + ?Sized>(path: &P) -> P::Owned {
    let is_rooted = is_abs(path);
    let mut parts: Vec<&P> = Vec::new();
    for part in path.parts() {
        match part.bytes() {
            b"" | b"." => {}
            b".." => match parts.last() {
                Some(last) if last.bytes() != b".." => {
                    parts.pop();
                }
                None if is_rooted => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    if parts.is_empty() && !is_rooted {
        return P::DOT.to_owned();
    }
    P::join(&parts, is_rooted)
}

fn after_last_slash(path: &[u8]) -> usize {
    path.iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1)
}
