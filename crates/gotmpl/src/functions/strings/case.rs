//! Upper and lower case, and the naming styles of `github.com/huandu/xstrings`.

use outrigger_gostd::unicode::{
    RUNE_ERROR, append_rune, decode_rune, is_digit, is_letter, is_lower, is_number, is_punct,
    is_space, is_title, is_upper, runes, to_lower, to_title, to_upper,
};

use crate::function::Call;
use crate::functions::CallResult;
use crate::functions::args::bytes;
use crate::value::Value;

pub(super) fn upper(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = bytes(args, 0);
    if text.is_ascii() {
        return Ok(Value::str(text.to_ascii_uppercase()));
    }
    Ok(mapped(text, to_upper))
}

pub(super) fn lower(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = bytes(args, 0);
    if text.is_ascii() {
        return Ok(Value::str(text.to_ascii_lowercase()));
    }
    Ok(mapped(text, to_lower))
}

fn mapped(text: &[u8], mut map: impl FnMut(char) -> char) -> Value {
    let mapped: String = runes(text).map(|(_, c)| map(c)).collect();
    Value::str(mapped)
}

/// The first letter of each word in title case.
pub(super) fn title(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut previous = ' ';
    Ok(mapped(bytes(args, 0), |c| {
        let starts_word = is_word_separator(previous);
        previous = c;
        if starts_word { to_title(c) } else { c }
    }))
}

fn is_word_separator(c: char) -> bool {
    if c.is_ascii() {
        return !(c.is_ascii_alphanumeric() || c == '_');
    }
    !is_letter(c) && !is_digit(c) && is_space(c)
}

/// The first letter of each word in lower case.
pub(super) fn untitle(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut at_start = true;
    Ok(mapped(bytes(args, 0), |c| {
        if is_space(c) {
            at_start = true;
            c
        } else if std::mem::take(&mut at_start) {
            to_lower(c)
        } else {
            c
        }
    }))
}

pub(super) fn swap(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let mut after_space = true;
    Ok(mapped(bytes(args, 0), |c| {
        if is_upper(c) || is_title(c) {
            after_space = false;
            to_lower(c)
        } else if is_lower(c) {
            if std::mem::take(&mut after_space) {
                to_title(c)
            } else {
                to_upper(c)
            }
        } else {
            after_space = is_space(c);
            c
        }
    }))
}

pub(super) fn snake(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(separated(bytes(args, 0), '_')))
}

pub(super) fn kebab(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(separated(bytes(args, 0), '-')))
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || is_space(c)
}

/// `xstrings.ToCamelCase`: `some_words` to `SomeWords`; leading and repeated connectors are kept.
pub(super) fn camel(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text: Vec<char> = runes(bytes(args, 0)).map(|(_, c)| c).collect();
    let mut out = String::new();
    let start = text
        .iter()
        .position(|c| !is_connector(*c))
        .unwrap_or(text.len());
    out.extend(&text[..start]);
    let Some(first) = text.get(start) else {
        // Only connectors: the last one is repeated, as in the original.
        out.extend(text.last());
        return Ok(Value::str(out));
    };
    let mut word_is_upper = is_upper(*first);
    let mut current = to_upper(*first);
    for c in &text[start + 1..] {
        let previous = current;
        current = *c;
        match (is_connector(previous), is_connector(current)) {
            (true, true) => out.push(previous),
            (true, false) => {
                word_is_upper = is_upper(current);
                current = to_upper(current);
            }
            (false, _) => {
                if word_is_upper {
                    if is_upper(current) {
                        current = to_lower(current);
                    } else {
                        word_is_upper = false;
                    }
                }
                out.push(previous);
            }
        }
    }
    out.push(current);
    Ok(Value::str(out))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

/// Whether a connector precedes a word of this kind.
fn joins(word: Word) -> bool {
    !matches!(word, Word::Connector | Word::Punctuation)
}

/// `xstrings.ToSnakeCase` with the given connector: `HTTPServer` to `http_server`.
fn separated(text: &[u8], connector: char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut words = Words { rest: text };
    let (mut kind, mut word) = words.next();
    while !words.rest.is_empty() {
        if kind != Word::Connector {
            write_word(&mut out, kind, word, connector);
        }
        let (previous_kind, previous) = (kind, word);
        (kind, word) = words.next();
        match previous_kind {
            Word::Number => {
                (kind, word) = words.write_run(&mut out, kind, word, connector);
                if kind != Word::Invalid && joins(kind) {
                    append_rune(&mut out, connector);
                }
            }
            Word::Connector => write_word(&mut out, previous_kind, previous, connector),
            Word::Punctuation => {}
            _ if kind != Word::Number => {
                if joins(kind) {
                    append_rune(&mut out, connector);
                }
            }
            _ if words.rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word) = words.next();
                if kind == Word::Alphabet {
                    // Lower-case letters after a number belong to it: `HTTP2xx` is `http_2xx`.
                    append_rune(&mut out, connector);
                    write_word(&mut out, Word::Number, number, connector);
                    (kind, word) = words.write_run(&mut out, kind, word, connector);
                    if kind != Word::Invalid && joins(kind) {
                        append_rune(&mut out, connector);
                    }
                } else {
                    // Otherwise the number belongs to the word before: `Bld4Floor` is `bld4_floor`.
                    write_word(&mut out, Word::Number, number, connector);
                    if joins(kind) {
                        append_rune(&mut out, connector);
                    }
                }
            }
        }
    }
    write_word(&mut out, kind, word, connector);
    out
}

fn write_word(out: &mut Vec<u8>, kind: Word, word: &[u8], connector: char) {
    if kind != Word::Upper && kind != Word::Connector {
        out.extend_from_slice(word);
        return;
    }
    for (_, c) in runes(word) {
        let c = if is_connector(c) {
            connector
        } else if is_upper(c) {
            to_lower(c)
        } else {
            c
        };
        append_rune(out, c);
    }
}

/// A letter that is not a Chinese character.
fn is_alphabet(c: char) -> bool {
    let is_cjk =
        matches!(c, '\u{3400}'..='\u{4d85}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2b81d}');
    is_letter(c) && !is_cjk
}

struct Words<'t> {
    rest: &'t [u8],
}

impl<'t> Words<'t> {
    /// Writes all consecutive letters and numbers; returns the word after them.
    fn write_run(
        &mut self,
        out: &mut Vec<u8>,
        mut kind: Word,
        mut word: &'t [u8],
        connector: char,
    ) -> (Word, &'t [u8]) {
        while kind == Word::Alphabet || kind == Word::Number {
            write_word(out, kind, word, connector);
            (kind, word) = self.next();
        }
        (kind, word)
    }

    fn next(&mut self) -> (Word, &'t [u8]) {
        let text = self.rest;
        let (first, size) = next_valid(text, RUNE_ERROR);
        if first == RUNE_ERROR {
            return self.take(Word::Invalid, size);
        }
        if is_connector(first) {
            self.take(Word::Connector, run(text, size, first, is_connector))
        } else if is_punct(first) {
            self.take(Word::Punctuation, run(text, size, first, is_punct))
        } else if is_upper(first) {
            self.take(Word::Upper, upper_word(text, size, first))
        } else if is_alphabet(first) {
            self.take(Word::Alphabet, run(text, size, first, is_lower_letter))
        } else if is_number(first) {
            self.take(Word::Number, run(text, size, first, is_number))
        } else {
            let other = |c| !(is_connector(c) || is_alphabet(c) || is_number(c) || is_punct(c));
            self.take(Word::Other, run(text, size, first, other))
        }
    }

    fn take(&mut self, kind: Word, length: usize) -> (Word, &'t [u8]) {
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (kind, word)
    }
}

fn is_lower_letter(c: char) -> bool {
    is_alphabet(c) && !is_upper(c)
}

/// The end of the run of characters from `end` on that satisfy `matches`.
fn run(text: &[u8], mut end: usize, mut last: char, matches: impl Fn(char) -> bool) -> usize {
    while end < text.len() {
        let (c, size) = next_valid(&text[end..], last);
        if !matches(c) {
            break;
        }
        last = c;
        end += size;
    }
    end
}

/// Upper-case letters, or one of them with lower-case letters. In `HTTPStatus` the `S` belongs to the next word.
fn upper_word(text: &[u8], size: usize, first: char) -> usize {
    if size == text.len() {
        return size;
    }
    let (second, second_size) = next_valid(&text[size..], first);
    if is_upper(second) {
        let mut end = size + second_size;
        let mut last_size = second_size;
        let mut last = second;
        while end < text.len() {
            let (c, size) = next_valid(&text[end..], last);
            last = c;
            if !is_upper(c) {
                break;
            }
            last_size = size;
            end += size;
        }
        if end < text.len() && is_alphabet(last) {
            end -= last_size;
        }
        end
    } else if is_alphabet(second) {
        run(text, size + second_size, second, is_lower_letter)
    } else {
        size
    }
}

/// The next valid character and the width up to its end, or `fallback`.
fn next_valid(text: &[u8], fallback: char) -> (char, usize) {
    let mut size = 0;
    while let Some((c, length)) = decode_rune(&text[size..]) {
        size += length;
        if c != RUNE_ERROR {
            return (c, size);
        }
    }
    (fallback, size)
}
