//! Writes scalars: chooses the style, quotes, escapes and folds.

use super::analysis::{Analysis, analyze, is_break, is_printable};
use super::{Emitter, Style, WIDTH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Single,
    Double,
    Literal,
}

impl Emitter<'_> {
    /// Writes a scalar in the given form, if possible.
    pub(super) fn write_scalar(&mut self, text: &str, preferred: Form, is_key: bool) {
        let form = choose(analyze(text, self.style), preferred, is_key);
        self.write_in_form(text, form, is_key);
    }

    pub(super) fn write_in_form(&mut self, text: &str, form: Form, is_key: bool) {
        let around = self.indent;
        self.indent = if around < 0 { 2 } else { around + 2 };
        match form {
            Form::Plain => self.write_plain(text, !is_key),
            Form::Single => self.write_single(text, !is_key),
            Form::Double => self.write_double(text, !is_key),
            Form::Literal => self.write_literal(text),
        }
        self.indent = around;
    }

    /// A number, a boolean or null.
    pub(super) fn write_plain_word(&mut self, word: &str) {
        if !self.whitespace {
            self.put(b' ');
        }
        self.put_text(word, word.len());
        self.end_word();
    }

    fn end_word(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }

    fn folds_at(&self, may_fold: bool) -> bool {
        may_fold && self.style == Style::Normal && self.column > WIDTH
    }

    /// Whether `length` bytes fit into the current line without folding.
    fn fits_in_line(&self, length: usize) -> bool {
        self.style == Style::Pretty || self.column + length <= WIDTH
    }

    fn write_plain(&mut self, text: &str, may_fold: bool) {
        if !self.whitespace {
            self.put(b' ');
        }
        if !may_fold || self.fits_in_line(text.len()) {
            self.put_text(text, characters(text));
        } else {
            self.write_folded_words(text);
        }
        self.end_word();
    }

    /// Folds at single spaces after the maximum width.
    fn write_folded_words(&mut self, text: &str) {
        let mut after_space = false;
        let mut rest = text;
        while let Some(length) = rest.find(' ') {
            let (word, after) = (&rest[..length], &rest[length + 1..]);
            self.put_text(word, characters(word));
            after_space &= word.is_empty();
            if !after_space && !after.starts_with(' ') && self.folds_at(true) {
                self.write_indent();
            } else {
                self.put(b' ');
            }
            after_space = true;
            rest = after;
        }
        self.put_text(rest, characters(rest));
    }

    fn write_single(&mut self, text: &str, may_fold: bool) {
        self.write_indicator(b"'", true, false, false);
        let (mut after_space, mut after_break) = (false, false);
        let bytes = text.as_bytes();
        for (at, c) in text.char_indices() {
            if c == ' ' {
                let is_alone =
                    !after_space && at > 0 && bytes.get(at + 1).is_some_and(|&next| next != b' ');
                if is_alone && self.folds_at(may_fold) {
                    self.write_indent();
                } else {
                    self.put(b' ');
                }
                after_space = true;
            } else if is_break(c) {
                if !after_break && c == '\n' {
                    self.put_break();
                }
                self.write_break(c);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.write_indent();
                }
                if c == '\'' {
                    self.put(b'\'');
                }
                self.put_character(c);
                self.indention = false;
                after_space = false;
                after_break = false;
            }
        }
        self.write_indicator(b"'", false, false, false);
        self.end_word();
    }

    fn write_double(&mut self, text: &str, may_fold: bool) {
        self.write_indicator(b"\"", true, false, false);
        // go-yaml checks for a byte order mark at the start of the text instead of at each character.
        let escapes_all = text.starts_with('\u{FEFF}');
        let mut after_space = false;
        let bytes = text.as_bytes();
        for (at, c) in text.char_indices() {
            if escapes_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.write_escape(c);
                after_space = false;
            } else if c == ' ' {
                let is_inside = at > 0 && at + 1 < bytes.len();
                if !after_space && is_inside && self.folds_at(may_fold) {
                    self.write_indent();
                    if bytes[at + 1] == b' ' {
                        self.put(b'\\');
                    }
                } else {
                    self.put(b' ');
                }
                after_space = true;
            } else {
                self.put_character(c);
                after_space = false;
            }
        }
        self.write_indicator(b"\"", false, false, false);
        self.end_word();
    }

    fn write_escape(&mut self, c: char) {
        self.put(b'\\');
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{B}' => 'v',
            '\u{C}' => 'f',
            '\r' => 'r',
            '\u{1B}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{A0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(c);
                let text = match code {
                    ..=0xFF => format!("x{code:02X}"),
                    0x100..=0xFFFF => format!("u{code:04X}"),
                    _ => format!("U{code:08X}"),
                };
                self.put_text(&text, text.len());
                return;
            }
        };
        self.put_character(short);
    }

    fn write_literal(&mut self, text: &str) {
        self.write_indicator(b"|", true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.write_indicator(b"2", false, false, false);
        }
        let mut from_end = text.chars().rev().map(is_break);
        match (from_end.next(), from_end.next()) {
            (Some(true), Some(false)) => {}
            (Some(true), _) => self.write_indicator(b"+", false, false, false),
            _ => self.write_indicator(b"-", false, false, false),
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        for line in text.split_inclusive(is_break) {
            let content = line.trim_end_matches(is_break);
            if !content.is_empty() {
                self.write_indent();
                self.put_text(content, characters(content));
                self.indention = false;
            }
            if let Some(c) = line[content.len()..].chars().next() {
                self.write_break(c);
                self.indention = true;
            }
        }
    }

    pub(super) fn write_indent(&mut self) {
        let indent = usize::try_from(self.indent).unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        if self.column < indent {
            self.out.resize(self.out.len() + indent - self.column, b' ');
            self.column = indent;
        }
        self.whitespace = true;
        self.indention = true;
    }

    pub(super) fn write_indicator(
        &mut self,
        indicator: &[u8],
        needs_whitespace: bool,
        is_whitespace: bool,
        is_indention: bool,
    ) {
        if needs_whitespace && !self.whitespace {
            self.put(b' ');
        }
        self.out.extend_from_slice(indicator);
        self.column += indicator.len();
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    /// Writes a line break of the scalar.
    fn write_break(&mut self, c: char) {
        if c == '\n' {
            self.put_break();
        } else {
            self.put_character(c);
            self.column = 0;
        }
    }

    fn put_break(&mut self) {
        self.out.push(b'\n');
        self.out.resize(self.out.len() + self.pad, b' ');
        self.column = 0;
    }

    fn put(&mut self, byte: u8) {
        self.out.push(byte);
        self.column += 1;
    }

    fn put_character(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.out
            .extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        self.column += 1;
    }

    fn put_text(&mut self, text: &str, characters: usize) {
        self.out.extend_from_slice(text.as_bytes());
        self.column += characters;
    }
}

/// The width of a text in columns.
fn characters(text: &str) -> usize {
    text.chars().count()
}

fn choose(allowed: Analysis, preferred: Form, is_key: bool) -> Form {
    let form = match preferred {
        Form::Plain if !allowed.plain => Form::Single,
        form => form,
    };
    match form {
        Form::Single if !allowed.single_quoted => Form::Double,
        Form::Literal if !allowed.block || is_key => Form::Double,
        form => form,
    }
}
