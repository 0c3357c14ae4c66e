//! Parses RE2 syntax and translates it to the syntax of the `regex` crate.
//!
//! The two dialects differ in the meaning of classes such as `\d` and of word boundaries, in the syntax of bracketed
//! classes, and in what they accept. So every construct is parsed and written again. Names of groups are dropped.

use super::{Error, class};

/// The maximum nesting of groups. Go allows a thousand, but the compiler of the `regex` crate is recursive.
const MAX_DEPTH: usize = 200;
/// The maximum count of a repetition, and the maximum product of nested repetitions.
const MAX_REPEAT: u32 = 1000;

pub(super) struct Translation {
    pub(super) regex: String,
    pub(super) names: Vec<String>,
}

/// Whether the groups of an expression are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    Captured,
    /// For expressions that are only matched: a match needs memory for each group in each state.
    Ignored,
}

pub(super) fn translate(pattern: &str, groups: Groups) -> Result<Translation, Error> {
    let mut translator = Translator {
        pattern,
        captures: groups,
        at: 0,
        out: String::with_capacity(pattern.len() * 2),
        names: Vec::new(),
        groups: Vec::new(),
        has_atom: false,
        atom_end: 0,
        repeats: 1,
        last_repeat: None,
        follows_flags: false,
    };
    translator.run()?;
    Ok(Translation {
        regex: translator.out,
        names: translator.names,
    })
}

struct Translator<'p> {
    pattern: &'p str,
    captures: Groups,
    at: usize,
    out: String,
    names: Vec<String>,
    /// For each open group, the largest product of repetitions inside it so far.
    groups: Vec<u32>,
    /// There is an atom that a repetition can apply to.
    has_atom: bool,
    /// Where the atom ends in the output; flags may follow it.
    atom_end: usize,
    /// The largest product of nested repetitions in the last atom.
    repeats: u32,
    /// The offset of the preceding repetition operator.
    last_repeat: Option<usize>,
    /// The last item was `(?flags)`, which is not an atom.
    follows_flags: bool,
}

impl<'p> Translator<'p> {
    fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    fn run(&mut self) -> Result<(), Error> {
        while let Some(c) = self.rest().chars().next() {
            let is_repeat = self.item(c)?;
            if !is_repeat {
                self.last_repeat = None;
            }
            if !self.follows_flags {
                self.atom_end = self.out.len();
            }
            self.follows_flags = false;
        }
        if self.groups.is_empty() {
            Ok(())
        } else {
            Err(Error::new("missing closing )", self.pattern))
        }
    }

    /// Parses one item; returns whether it is a repetition.
    fn item(&mut self, c: char) -> Result<bool, Error> {
        match c {
            '(' => self.open()?,
            ')' => self.close()?,
            '|' => {
                self.at += 1;
                self.out.push('|');
                self.has_atom = false;
            }
            '^' | '$' | '.' => {
                self.at += 1;
                self.out.push(c);
                self.atom();
            }
            '[' => {
                let length = class::bracketed(self.rest(), &mut self.out)?;
                self.at += length;
                self.atom();
            }
            '*' | '+' | '?' => {
                self.repeat(1, &c.to_string())?;
                return Ok(true);
            }
            '{' => return self.counted_repeat(),
            '\\' => self.escape()?,
            _ => {
                self.at += c.len_utf8();
                class::push_literal(&mut self.out, c);
                self.atom();
            }
        }
        Ok(false)
    }

    fn atom(&mut self) {
        self.record_repeats();
        self.has_atom = true;
        self.repeats = 1;
    }

    /// Adds the product of the last atom to that of its group.
    fn record_repeats(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            *group = self.repeats.max(*group);
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        if self.rest().starts_with("(?") {
            return self.open_special();
        }
        self.at += 1;
        self.open_capture("")
    }

    fn open_capture(&mut self, name: &str) -> Result<(), Error> {
        if self.captures == Groups::Ignored {
            return self.open_group("(?:");
        }
        self.names.push(name.to_owned());
        self.open_group("(")
    }

    fn open_group(&mut self, written: &str) -> Result<(), Error> {
        if self.groups.len() >= MAX_DEPTH {
            return Err(Error::new("expression nests too deeply", self.pattern));
        }
        self.out.push_str(written);
        self.record_repeats();
        self.groups.push(1);
        self.has_atom = false;
        self.repeats = 1;
        Ok(())
    }

    /// A named group, a non-capturing group, or flags.
    fn open_special(&mut self) -> Result<(), Error> {
        let rest = self.rest();
        let name_start = match rest.as_bytes() {
            [_, _, b'P', b'<', _, ..] => Some(4),
            [_, _, b'<', _, ..] => Some(3),
            _ => None,
        };
        let Some(name_start) = name_start else {
            return self.flags();
        };
        let Some(end) = rest.find('>') else {
            return Err(Error::new("invalid named capture", rest));
        };
        let name = &rest[name_start..end];
        let is_valid =
            !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
        if !is_valid {
            return Err(Error::new("invalid named capture", &rest[..=end]));
        }
        self.at += end + 1;
        self.open_capture(name)
    }

    fn flags(&mut self) -> Result<(), Error> {
        let rest = self.rest();
        let mut negative = false;
        let mut since_sign = 0;
        for (offset, c) in rest.char_indices().skip(2) {
            let end = offset + c.len_utf8();
            let invalid = || {
                Err(Error::new(
                    "invalid or unsupported Perl syntax",
                    &rest[..end],
                ))
            };
            match c {
                'i' | 'm' | 's' | 'U' => since_sign += 1,
                '-' if !negative => {
                    negative = true;
                    since_sign = 0;
                }
                ':' | ')' if !negative || since_sign > 0 => {
                    self.at += end;
                    let written = &rest[..end];
                    return if c == ':' {
                        self.open_group(written)
                    } else {
                        self.follows_flags = true;
                        self.out
                            .push_str(if written == "(?)" { "" } else { written });
                        Ok(())
                    };
                }
                _ => return invalid(),
            }
        }
        Err(Error::new("invalid or unsupported Perl syntax", rest))
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(inner) = self.groups.pop() else {
            return Err(Error::new("unexpected )", self.pattern));
        };
        self.at += 1;
        self.out.push(')');
        // The group is an atom.
        self.has_atom = true;
        self.repeats = self.repeats.max(inner);
        Ok(())
    }

    /// Parses a repetition of `length` bytes and an optional `?`.
    fn repeat(&mut self, length: usize, written: &str) -> Result<(), Error> {
        let start = self.at;
        self.at += length;
        let lazy = self.rest().starts_with('?');
        self.at += usize::from(lazy);
        if let Some(last) = self.last_repeat {
            return Err(Error::new(
                "invalid nested repetition operator",
                &self.pattern[last..self.at],
            ));
        }
        if !self.has_atom {
            return Err(Error::new(
                "missing argument to repetition operator",
                &self.pattern[start..self.at],
            ));
        }
        let lazy = if lazy { "?" } else { "" };
        self.out
            .insert_str(self.atom_end, &format!("{written}{lazy}"));
        self.last_repeat = Some(start);
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,5}`. Any other brace is a literal.
    fn counted_repeat(&mut self) -> Result<bool, Error> {
        let rest = self.rest();
        let Some((min, max, length)) = parse_counts(rest) else {
            self.at += 1;
            self.out.push_str(r"\{");
            self.atom();
            return Ok(false);
        };
        let in_order = max.is_none_or(|max| min <= max && max <= MAX_REPEAT);
        if min > MAX_REPEAT || !in_order {
            return Err(Error::new("invalid repeat count", &rest[..length]));
        }
        let start = self.at;
        self.repeat(length, &rest[..length])?;
        let count = max.unwrap_or(min);
        if min >= 2 || max.is_some_and(|max| max >= 2) {
            self.repeats = self.repeats.saturating_mul(count.max(1));
            if self.repeats > MAX_REPEAT {
                return Err(Error::new(
                    "invalid repeat count",
                    &self.pattern[start..self.at],
                ));
            }
        }
        Ok(true)
    }

    fn escape(&mut self) -> Result<(), Error> {
        let rest = self.rest();
        let assertion = match rest.as_bytes() {
            [_, b'A', ..] => r"\A",
            [_, b'z', ..] => r"\z",
            [_, b'b', ..] => r"(?-u:\b)",
            [_, b'B', ..] => r"(?-u:\B)",
            [_, b'C', ..] => return Err(Error::new("invalid escape sequence", r"\C")),
            [_, b'Q', ..] => {
                let literal = &rest[2..];
                let (text, length) = match literal.find(r"\E") {
                    Some(end) => (&literal[..end], end + 4),
                    None => (literal, rest.len()),
                };
                self.at += length;
                for c in text.chars() {
                    class::push_literal(&mut self.out, c);
                    self.atom();
                }
                return Ok(());
            }
            _ => "",
        };
        if assertion.is_empty() {
            let length = if let Some(length) = class::escaped_class(rest, &mut self.out)? {
                length
            } else {
                let (c, length) = class::escaped_char(rest)?;
                class::push_code_point(&mut self.out, c);
                length
            };
            self.at += length;
        } else {
            self.at += 2;
            self.out.push_str(assertion);
        }
        self.atom();
        Ok(())
    }
}

/// The minimum, the maximum and the length of a counted repetition.
fn parse_counts(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let end = text.find('}')?;
    let body = &text[1..end];
    let (min, max) = match body.split_once(',') {
        None => (body, Some(body)),
        Some((min, "")) => (min, None),
        Some((min, max)) => (min, Some(max)),
    };
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        // A number that overflows exceeds the maximum as well.
        (plain && !leading_zero).then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let max = match max {
        Some(max) => Some(number(max)?),
        None => None,
    };
    Some((number(min)?, max, end + 1))
}
