//! `yaml_emitter_analyze_scalar`: the styles in which a scalar can be written.

use super::Style;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Analysis {
    /// Without quotes, if its type allows it.
    pub(super) plain: bool,
    pub(super) single_quoted: bool,
    /// As a literal block.
    pub(super) block: bool,
}

/// Whether the text spans lines.
pub(super) fn has_break(text: &str) -> bool {
    text.contains(is_break)
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character needs no escape.
pub(super) fn is_printable(c: char) -> bool {
    matches!(
        c,
        '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}'
    )
}

/// The fast path for printable ASCII: whether it can be plain. It can always be single-quoted.
pub(super) fn is_plain_ascii(text: &str) -> Option<bool> {
    let bytes = text.as_bytes();
    let mut is_plain = !starts_with_indicator(text);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b' ' if at == 0 || at + 1 == bytes.len() => is_plain = false,
            b':' if matches!(bytes.get(at + 1), None | Some(b' ')) => is_plain = false,
            b'#' if at > 0 && bytes[at - 1] == b' ' => is_plain = false,
            b' '..=b'~' => {}
            _ => return None,
        }
    }
    Some(is_plain)
}

/// Whether the text starts with an indicator.
fn starts_with_indicator(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    match text.as_bytes() {
        [first, rest @ ..] => match first {
            b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\''
            | b'"' | b'%' | b'@' | b'`' => true,
            b'?' | b':' | b'-' => matches!(rest.first(), None | Some(b' ' | b'\t')),
            _ => false,
        },
        [] => false,
    }
}

/// The fast path for printable ASCII with line breaks: whether it can be a literal block.
pub(super) fn is_block_ascii(text: &str) -> Option<bool> {
    let mut before = b'\n';
    let mut is_block = true;
    for &byte in text.as_bytes() {
        match byte {
            b'\n' => is_block &= before != b' ',
            b' '..=b'~' => {}
            _ => return None,
        }
        before = byte;
    }
    Some(is_block && before != b' ')
}

pub(super) fn analyze(text: &str, style: Style) -> Analysis {
    let mut seen = Seen {
        indicator: starts_with_indicator(text),
        ..Seen::default()
    };
    let mut after_blank = true;
    let (mut after_space, mut after_break) = (false, false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        match c {
            ':' if matches!(next, None | Some(' ' | '\t')) => seen.indicator = true,
            '#' if after_blank => seen.indicator = true,
            '\t' if style == Style::Pretty => seen.tab = true,
            c if !is_printable(c) => seen.special = true,
            _ => {}
        }
        let is_edge = at == 0 || next.is_none();
        if c == ' ' {
            seen.edge |= is_edge;
            seen.trailing_space |= next.is_none();
            seen.break_space |= after_break;
        } else if is_break(c) {
            seen.line_break = true;
            seen.edge |= is_edge;
            seen.space_break |= after_space;
        }
        after_space = c == ' ';
        after_break = is_break(c);
        after_blank = matches!(c, ' ' | '\t' | '\0') || after_break;
    }
    seen.conclude()
}

#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact about the text on its own"
)]
struct Seen {
    /// An indicator of a comment, a value or another node.
    indicator: bool,
    line_break: bool,
    special: bool,
    tab: bool,
    /// A space or a line break at the start or at the end.
    edge: bool,
    trailing_space: bool,
    break_space: bool,
    space_break: bool,
}

impl Seen {
    fn conclude(&self) -> Analysis {
        let is_hard = self.space_break || self.special;
        let single_quoted = !(self.break_space || is_hard || self.tab);
        Analysis {
            plain: single_quoted && !(self.edge || self.line_break || self.indicator),
            single_quoted,
            block: !(self.trailing_space || is_hard),
        }
    }
}
